package main

import (
	"context"

	"worksite/backend/service"
)

// running returns the titles of the sessions whose run this process carries, for
// the question that closing the window asks.
func running(svc *service.Service) func(context.Context) ([]string, error) {
	return func(ctx context.Context) ([]string, error) {
		list, err := svc.Sessions(ctx, false)
		if err != nil {
			return nil, err
		}
		var titles []string
		for _, v := range list {
			if v.Run != nil && v.Run.Here && v.Run.State == service.RunWorking {
				titles = append(titles, v.Title)
			}
		}
		return titles, nil
	}
}
