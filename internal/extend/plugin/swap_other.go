//go:build !linux && !darwin

package plugin

import "errors"

// swap exchanges two places in one step, where the system can.
func swap(a, b string) error { return errors.ErrUnsupported }
