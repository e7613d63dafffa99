package prompt

import (
	"fmt"

	"golang.org/x/sys/windows"
)

// OSRelease names the running system, such as "Windows 10.0.22631".
func OSRelease() string {
	v := windows.RtlGetVersion()
	return fmt.Sprintf("Windows %d.%d.%d", v.MajorVersion, v.MinorVersion, v.BuildNumber)
}
