//go:build !linux && !darwin

package live

import "os"

func birth(int) (string, error) {
	return "", errUnknown
}

func machine() string {
	host, _ := os.Hostname()
	return host
}
