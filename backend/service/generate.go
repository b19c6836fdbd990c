package service

//go:generate go run worksite/backend/internal/tsgen
