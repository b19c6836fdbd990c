package app

import (
	"context"
	"net/url"
	"time"

	"github.com/godbus/dbus/v5"

	"worksite/backend/domain"
)

const onLinux = true

// busPatience bounds every call to the session bus: a service that has to be
// started first takes a moment, a broken one must not hang the page.
const busPatience = 5 * time.Second

func notify(title, text string) error {
	return busCall("org.freedesktop.Notifications", "/org/freedesktop/Notifications", "org.freedesktop.Notifications.Notify",
		"the desktop shows no notifications", "",
		"Worksite", uint32(0), "worksite", title, text, []string{}, map[string]dbus.Variant{}, int32(-1))
}

// reveal shows path in the file manager, selected in its folder.
func reveal(path string) error {
	uri := (&url.URL{Scheme: "file", Path: path}).String()
	return busCall("org.freedesktop.FileManager1", "/org/freedesktop/FileManager1", "org.freedesktop.FileManager1.ShowItems",
		"no file manager answered", "it is at "+path,
		[]string{uri}, "")
}

func busCall(name string, object dbus.ObjectPath, method, missing, hint string, args ...any) error {
	ctx, cancel := context.WithTimeout(context.Background(), busPatience)
	defer cancel()
	conn, err := dbus.ConnectSessionBus(dbus.WithContext(ctx))
	if err != nil {
		return domain.Errorf(domain.CodeUnavailable, "%s: %w", missing, err).WithHint("%s", hint)
	}
	defer func() { _ = conn.Close() }() // the answer is in
	if err := conn.Object(name, object).CallWithContext(ctx, method, 0, args...).Err; err != nil {
		return domain.Errorf(domain.CodeUnavailable, "%s: %w", missing, err).WithHint("%s", hint)
	}
	return nil
}
