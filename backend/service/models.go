package service

import (
	"context"
	"time"

	"worksite/backend/config"
	"worksite/backend/domain"
	"worksite/backend/model"
)

func (s *Service) newModels() *model.Registry {
	c := model.Config{OllamaURL: s.settings.OllamaURL, OpenAIURL: s.settings.OpenAIURL}
	if s.cfg.OllamaURL != "" {
		c.OllamaURL = s.cfg.OllamaURL
	}
	if s.cfg.OpenAIURL != "" {
		c.OpenAIURL = s.cfg.OpenAIURL
	}
	switch {
	case s.cfg.PracticePause > 0:
		c.PracticePause = time.Duration(s.cfg.PracticePause) * time.Millisecond
	case s.cfg.PracticePause == 0:
		c.PracticePause = 20 * time.Millisecond
	}
	return model.New(c)
}

// Models lists what can be chosen, and for each provider what is missing.
func (s *Service) Models(ctx context.Context) (ModelsView, error) {
	list, states := s.models.Look(ctx)
	if err := ctx.Err(); err != nil {
		return ModelsView{}, err
	}
	s.mu.Lock()
	chosen := s.settings.Model
	s.mu.Unlock()
	out := ModelsView{Chosen: chosen, Models: list}
	for _, p := range states {
		out.Providers = append(out.Providers, ProviderView{Name: p.Name, State: p.State, Message: p.Message, Hint: p.Hint, BaseURL: p.BaseURL})
	}
	if chosen.Provider == "" {
		var err error
		if out.Chosen, err = s.models.Pick(ctx); err != nil {
			return ModelsView{}, err
		}
	}
	return out, nil
}

// ChooseModel sets the model of new sessions.
func (s *Service) ChooseModel(ctx context.Context, ref domain.ModelRef) (ModelsView, error) {
	if ref.Provider == "" || ref.Name == "" {
		return ModelsView{}, domain.Errorf(domain.CodeInvalid, "a model has a provider and a name")
	}
	if err := s.change(func(c *config.Settings) { c.Model, c.Started = ref, true }); err != nil {
		return ModelsView{}, err
	}
	return s.Models(ctx)
}

// Settings returns the person's choices.
func (s *Service) Settings() Settings {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.settings
	return Settings{Theme: c.Theme, Model: c.Model, Mode: c.Mode, Budget: c.Budget, OllamaURL: c.OllamaURL, OpenAIURL: c.OpenAIURL}
}

// SaveSettings stores the person's choices; provider addresses hold from the next start.
func (s *Service) SaveSettings(_ context.Context, v Settings) (Settings, error) {
	if v.Mode != "" {
		if err := checkMode(v.Mode); err != nil {
			return Settings{}, err
		}
	}
	err := s.change(func(c *config.Settings) {
		started := c.Started
		*c = config.Settings{Theme: v.Theme, Model: v.Model, Mode: v.Mode, Budget: v.Budget, OllamaURL: v.OllamaURL, OpenAIURL: v.OpenAIURL, Started: started}
	})
	if err != nil {
		return Settings{}, err
	}
	return s.Settings(), nil
}

// change stores changed settings, or leaves them as they were.
func (s *Service) change(f func(*config.Settings)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	next := s.settings
	f(&next)
	if err := next.Save(s.cfg.DataDir); err != nil {
		return domain.Errorf(domain.CodeUnavailable, "the settings were not stored: %w", err).WithHint("Look at the free space and the permissions of %s.", s.cfg.DataDir)
	}
	s.settings = next
	return nil
}
