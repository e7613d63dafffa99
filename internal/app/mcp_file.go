package app

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// readProjectFile reads a .mcp.json: the whole of it, and its servers. A file that is not there has none.
func readProjectFile(file string) (whole, servers map[string]json.RawMessage, err error) {
	whole, servers = map[string]json.RawMessage{}, map[string]json.RawMessage{}
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return whole, servers, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &whole)
	}
	if err == nil && whole["mcpServers"] != nil {
		err = json.Unmarshal(whole["mcpServers"], &servers)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("%s cannot be read: %w", file, err)
	}
	return whole, servers, nil
}

// editProjectFile changes the servers of a .mcp.json in one step. Everything else in it stays.
func editProjectFile(file string, change func(map[string]json.RawMessage) error) error {
	whole, servers, err := readProjectFile(file)
	if err != nil {
		return err
	}
	if err := change(servers); err != nil {
		return err
	}
	if whole["mcpServers"], err = json.Marshal(servers); err != nil {
		return err
	}
	data, err := json.MarshalIndent(whole, "", "  ")
	if err != nil {
		return err
	}
	mode := fs.FileMode(0o644)
	if info, err := os.Stat(file); err == nil {
		mode = info.Mode().Perm()
	}
	tmp, err := os.CreateTemp(filepath.Dir(file), ".mcp-*")
	if err != nil {
		return err
	}
	_, err = tmp.Write(append(data, '\n'))
	err = errors.Join(err, tmp.Chmod(mode), tmp.Close())
	if err == nil {
		err = os.Rename(tmp.Name(), file)
	}
	if err != nil {
		os.Remove(tmp.Name())
		return fmt.Errorf("%s could not be written: %w", file, err)
	}
	return nil
}
