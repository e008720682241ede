package main

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// A source is what a side is built from.
type source struct {
	commit  string // its full name; empty: the work tree
	name    string // as it is printed
	without string // a policy that is switched off
}

// resolve finds what an argument means, in the repository at root.
func resolve(ctx context.Context, root, arg string) (source, error) {
	if arg == "" || arg == "." || arg == "worktree" {
		return source{name: "the work tree"}, nil
	}
	out, err := git(ctx, root, "rev-parse", "--verify", "--end-of-options", arg+"^{commit}")
	if err != nil {
		return source{}, fmt.Errorf("%q is no commit: %w", arg, err)
	}
	commit := strings.TrimSpace(string(out))
	if out, err = git(ctx, root, "log", "-1", "--format=%h %s", commit); err != nil {
		return source{}, err
	}
	return source{commit: commit, name: strings.TrimSpace(string(out))}, nil
}

// unpack writes the source's files to dir, which does not exist.
func (s source) unpack(ctx context.Context, root, dir string) error {
	if s.commit == "" {
		return copyWorkTree(ctx, root, dir)
	}
	archive, err := git(ctx, root, "archive", "--format=tar", s.commit)
	if err != nil {
		return err
	}
	return untar(bytes.NewReader(archive), dir)
}

// git runs git in dir and returns what git prints.
func git(ctx context.Context, dir string, args ...string) ([]byte, error) {
	return output(command(ctx, dir, "git", args...))
}

// command can be interrupted, and then has a while to tidy up.
func command(ctx context.Context, dir, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 5 * time.Second
	return cmd
}

// output runs cmd and returns what cmd prints. The error has what cmd writes to stderr.
func output(cmd *exec.Cmd) ([]byte, error) {
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		name := filepath.Base(cmd.Path)
		return nil, fmt.Errorf("%s: %w\n%s", name, err, bytes.TrimSpace(stderr.Bytes()))
	}
	return out, nil
}

// untar writes the directories, files and symbolic links of an archive that git has made.
func untar(r io.Reader, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for t := tar.NewReader(r); ; {
		h, err := t.Next()
		if err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		if h.Typeflag == tar.TypeXGlobalHeader {
			continue
		}
		if !filepath.IsLocal(h.Name) {
			return fmt.Errorf("a file of the commit lies outside of it: %s", h.Name)
		}
		path := filepath.Join(dir, h.Name)
		switch h.Typeflag {
		case tar.TypeDir:
			err = os.MkdirAll(path, 0o755)
		case tar.TypeReg:
			err = writeFile(path, t, h.FileInfo().Mode())
		case tar.TypeSymlink:
			err = os.Symlink(h.Linkname, path)
		}
		if err != nil {
			return err
		}
	}
}

// copyWorkTree copies what is in the work tree and not ignored, whether committed or not.
func copyWorkTree(ctx context.Context, root, dir string) error {
	list, err := git(ctx, root, "ls-files", "-z", "--cached", "--others", "--exclude-standard",
		"--deduplicate")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for name := range strings.SplitSeq(strings.TrimSuffix(string(list), "\x00"), "\x00") {
		err := copyFile(filepath.Join(root, name), filepath.Join(dir, name))
		// deleted, and not yet from the index
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// copyFile copies a file or a symbolic link. A directory, which to git is another repository, is
// left out.
func copyFile(from, to string) error {
	info, err := os.Lstat(from)
	switch {
	case err != nil:
		return err
	case info.IsDir():
		return nil
	case info.Mode()&fs.ModeSymlink != 0:
		target, err := os.Readlink(from)
		if err != nil {
			return err
		}
		return errors.Join(os.MkdirAll(filepath.Dir(to), 0o755), os.Symlink(target, to))
	}
	f, err := os.Open(from)
	if err != nil {
		return err
	}
	defer f.Close()
	return writeFile(to, f, info.Mode())
}

func writeFile(path string, r io.Reader, mode fs.FileMode) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode.Perm()|0o200)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, r)
	return errors.Join(err, f.Close())
}
