package app

import "log/slog"

// wailsLog passes Wails' log lines on.
type wailsLog struct{ to *slog.Logger }

func (l wailsLog) Print(m string)   { l.to.Info(m) }
func (l wailsLog) Trace(m string)   { l.to.Debug(m) }
func (l wailsLog) Debug(m string)   { l.to.Debug(m) }
func (l wailsLog) Info(m string)    { l.to.Info(m) }
func (l wailsLog) Warning(m string) { l.to.Warn(m) }
func (l wailsLog) Error(m string)   { l.to.Error(m) }

// Fatal is Wails' last word before it gives up; ending the process stays with main.
func (l wailsLog) Fatal(m string) { l.to.Error(m) }
