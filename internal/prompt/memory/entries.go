package memory

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// An entry is what a model wants done to a memory.
type entry struct {
	File        string `json:"file"`
	Name        string `json:"name"`
	Description string `json:"description"`
	Type        string `json:"type"`
	Text        string `json:"text"`
	Remove      bool   `json:"remove"`
}

// Changes names the files that were written and those that were removed.
type Changes struct{ Saved, Removed []string }

// decode reads the JSON object of a model's answer, whatever the model has put around it.
func decode(answer string, into any) error {
	from, to := strings.IndexByte(answer, '{'), strings.LastIndexByte(answer, '}')
	if from < 0 || to < from {
		return errors.New("the model's answer has no JSON object")
	}
	if err := json.Unmarshal([]byte(answer[from:to+1]), into); err != nil {
		return fmt.Errorf("the model's answer cannot be read: %w", err)
	}
	return nil
}

func entriesOf(answer string, most int) ([]entry, error) {
	var list struct {
		Memories []entry `json:"memories"`
	}
	if err := decode(answer, &list); err != nil {
		return nil, err
	}
	return list.Memories[:min(len(list.Memories), most)], nil
}

// apply does what the model wants, as far as it is sound. One bad entry does not spoil the others.
func (s *Store) apply(ctx context.Context, entries []entry) (Changes, error) {
	var done Changes
	if len(entries) == 0 {
		return done, nil
	}
	unlock, err := s.take(ctx)
	if err != nil {
		return done, err
	}
	defer unlock()
	var errs []error
	for _, e := range entries {
		if e.Remove {
			if !s.exists(e.File) {
				continue
			}
			if err := s.remove(e.File); err != nil {
				errs = append(errs, err)
				continue
			}
			done.Removed = append(done.Removed, e.File)
			continue
		}
		file, err := s.save(Memory{File: e.File, Name: e.Name, Description: e.Description, Type: e.Type, Body: e.Text})
		if err != nil {
			errs = append(errs, err)
			continue
		}
		done.Saved = append(done.Saved, file)
	}
	return done, errors.Join(errs...)
}
