module worksite

go 1.26
