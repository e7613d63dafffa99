package app

import "gofer/internal/ui/words"

// say is a text of the UI in the language of its user, with values.
func (u *uiDesk) say(english string, values ...any) string {
	w := words.In(uiLanguage(u.e.world, u.e.settings.Current().Settings.UILanguage))
	if len(values) == 0 {
		return w.T(english)
	}
	return w.F(english, values...)
}

// uiLanguage is what the settings say, or else the environment.
func uiLanguage(w World, set string) string {
	if set != "" && set != "auto" {
		return set
	}
	return firstOf(w.Env("LC_ALL"), w.Env("LC_MESSAGES"), w.Env("LANG"))
}
