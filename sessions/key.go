package sessions

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"time"
)

const (
	keyFile = "cell.key"
	keyType = "PRIVATE KEY"
)

// errKey is a key file that holds no Ed25519 key.
var errKey = errors.New("not an Ed25519 private key in PEM (PKCS #8)")

// loadKey reads the cell's key in dir, or makes one. A file that holds no key is
// set aside, so that it never blocks the start; aside is its new name then.
func loadKey(dir string, now time.Time) (key ed25519.PrivateKey, aside string, err error) {
	path := filepath.Join(dir, keyFile)
	for range 3 {
		raw, err := os.ReadFile(path)
		if err == nil {
			if key, err = parseKey(raw); err == nil {
				return key, aside, keepPrivate(path)
			}
			if aside, err = setAside(path, now); err != nil {
				return nil, "", err
			}
		} else if !errors.Is(err, fs.ErrNotExist) {
			return nil, "", err
		}
		// Whoever of several processes links its file first has made the key.
		if err := makeKey(path); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, "", err
		}
	}
	return nil, "", fmt.Errorf("%s: %w", path, errKey)
}

// keepPrivate takes a secret away from everybody else.
func keepPrivate(path string) error {
	info, err := os.Stat(path)
	if err != nil || runtime.GOOS == "windows" || info.Mode().Perm()&0o077 == 0 {
		return err
	}
	return os.Chmod(path, 0o600)
}

func parseKey(raw []byte) (ed25519.PrivateKey, error) {
	block, _ := pem.Decode(raw)
	if block == nil || block.Type != keyType {
		return nil, errKey
	}
	k, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errKey, err)
	}
	key, ok := k.(ed25519.PrivateKey)
	if !ok {
		return nil, errKey
	}
	return key, nil
}

// makeKey writes a fresh key to path, whole or not at all; fs.ErrExist when
// there is one by now.
func makeKey(path string) error {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return fmt.Errorf("make cell key: %w", err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return fmt.Errorf("encode cell key: %w", err)
	}
	var text bytes.Buffer
	if err := pem.Encode(&text, &pem.Block{Type: keyType, Bytes: der}); err != nil {
		return fmt.Errorf("encode cell key: %w", err)
	}
	tmp, err := writeTemp(filepath.Dir(path), keyFile, text.Bytes())
	if err != nil {
		return err
	}
	defer os.Remove(tmp)
	if err := os.Link(tmp, path); err != nil {
		if errors.Is(err, fs.ErrExist) {
			return err
		}
		// A file system without links: the small race is with another first start.
		if _, statErr := os.Lstat(path); statErr == nil {
			return fs.ErrExist
		}
		if err := os.Rename(tmp, path); err != nil {
			return err
		}
	}
	return syncDir(filepath.Dir(path))
}

// writeTemp writes a private file next to its destination, durably, and returns its path.
func writeTemp(dir, name string, content []byte) (path string, err error) {
	f, err := os.CreateTemp(dir, name+".tmp-*") // mode 0600
	if err != nil {
		return "", err
	}
	_, err = f.Write(content)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		_ = os.Remove(f.Name())
		return "", err
	}
	return f.Name(), nil
}

// setAside renames path so that it says when it was found damaged.
func setAside(path string, now time.Time) (string, error) {
	name := unused(path + ".damaged-" + stamp(now))
	return name, os.Rename(path, name)
}

// stamp is an instant as it stands in file names.
func stamp(now time.Time) string { return now.UTC().Format("20060102T150405Z") }

// unused returns base, or base with a number when there is such a file.
func unused(base string) string {
	name := base
	for i := 2; ; i++ {
		if _, err := os.Lstat(name); errors.Is(err, fs.ErrNotExist) {
			return name
		}
		name = fmt.Sprintf("%s-%d", base, i)
	}
}
