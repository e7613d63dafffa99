package keys

import (
	"runtime"
	"slices"
	"sync"
)

// The actions that program code names.
const (
	Interrupt        Action = "app:interrupt"
	Exit             Action = "app:exit"
	Redraw           Action = "app:redraw"
	Suspend          Action = "app:suspend"
	ToggleTodos      Action = "app:toggleTodos"
	ToggleTranscript Action = "app:toggleTranscript"
	HistoryFind      Action = "history:search"
	HistoryPrevious  Action = "history:previous"
	HistoryNext      Action = "history:next"

	Cancel         Action = "chat:cancel"
	Submit         Action = "chat:submit"
	NewLine        Action = "chat:newline"
	CycleMode      Action = "chat:cycleMode"
	PickModel      Action = "chat:modelPicker"
	Undo           Action = "chat:undo"
	Redo           Action = "chat:redo"
	ExternalEditor Action = "chat:externalEditor"
	Stash          Action = "chat:stash"
	ImagePaste     Action = "chat:imagePaste"
	ShowHelp       Action = "chat:help"
	CompletePath   Action = "chat:complete"
	ClearInput     Action = "chat:clearInput"

	Background Action = "task:background"

	AcceptSuggestion   Action = "autocomplete:accept"
	DismissSuggestions Action = "autocomplete:dismiss"
	PreviousSuggestion Action = "autocomplete:previous"
	NextSuggestion     Action = "autocomplete:next"

	SearchNext    Action = "historySearch:next"
	SearchAccept  Action = "historySearch:accept"
	SearchCancel  Action = "historySearch:cancel"
	SearchExecute Action = "historySearch:execute"
	SearchScope   Action = "historySearch:cycleScope"

	CharLeft        Action = "edit:left"
	CharRight       Action = "edit:right"
	LineUp          Action = "edit:up"
	LineDown        Action = "edit:down"
	WordLeft        Action = "edit:wordLeft"
	WordRight       Action = "edit:wordRight"
	LineStart       Action = "edit:lineStart"
	LineEnd         Action = "edit:lineEnd"
	TextStart       Action = "edit:textStart"
	TextEnd         Action = "edit:textEnd"
	DeleteLeft      Action = "edit:deleteLeft"
	DeleteRight     Action = "edit:deleteRight"
	DeleteWordLeft  Action = "edit:deleteWordLeft"
	DeleteWordRight Action = "edit:deleteWordRight"
	KillToEnd       Action = "edit:killToLineEnd"
	KillToStart     Action = "edit:killToLineStart"
	Yank            Action = "edit:yank"
)

type entry struct {
	context Context
	action  Action
	help    string
	keys    []string
}

// Contexts are the contexts that a file may name, in the order of help.
func Contexts() []Context {
	var all []Context
	for _, e := range table() {
		if !slices.Contains(all, e.context) {
			all = append(all, e.context)
		}
	}
	return all
}

// helpOf is what an action does, wherever it stands in the table.
func helpOf(a Action) string {
	for _, e := range table() {
		if e.action == a {
			return e.help
		}
	}
	return ""
}

// table is every action, with the keys it has before the user changes them.
var table = sync.OnceValue(func() []entry {
	images := []string{"ctrl+v"}
	if runtime.GOOS == "windows" {
		images = []string{"alt+v"}
	}
	k := func(keys ...string) []string { return keys }
	return []entry{
		{Global, Interrupt, "Stop; twice: leave", k("ctrl+c")},
		{Global, Exit, "Leave", k("ctrl+d")},
		{Global, Suspend, "Back to the shell until fg", k("ctrl+z")},
		{Global, Redraw, "Draw the screen anew", k("ctrl+l")},
		{Global, ToggleTodos, "Show or hide the task list", k("ctrl+t")},
		{Global, ToggleTranscript, "All that happened, in full", k("ctrl+o")},

		{Chat, Submit, "Send", k("enter")},
		{Chat, NewLine, "New line", k("ctrl+j", "shift+enter", "alt+enter")},
		{Chat, Cancel, "Stop; twice: an earlier prompt", k("esc")},
		{Chat, CycleMode, "Next permission mode", k("shift+tab")},
		{Chat, HistoryPrevious, "Earlier prompt", k("up", "ctrl+p")},
		{Chat, HistoryNext, "Later prompt", k("down", "ctrl+n")},
		{Chat, HistoryFind, "Search earlier prompts", k("ctrl+r")},
		{Chat, Undo, "Undo", k("ctrl+_", "ctrl+shift+-")},
		{Chat, Redo, "Redo", k("alt+_", "ctrl+shift+z")},
		{Chat, ExternalEditor, "Write in your editor", k("ctrl+g", "ctrl+x ctrl+e")},
		{Chat, Stash, "Put the draft aside, or back", k("ctrl+s")},
		{Chat, ImagePaste, "Paste an image", images},
		{Chat, CompletePath, "Complete a path", k("tab")},
		{Chat, PickModel, "Choose the model", k("alt+p")},
		{Chat, ClearInput, "Empty the prompt", nil},
		{Chat, ShowHelp, "Show the keys", k("?")},

		{Task, Background, "Go on in the background", k("ctrl+b", "ctrl+x ctrl+b")},

		{Edit, CharLeft, "One character left", k("left", "ctrl+b")},
		{Edit, CharRight, "One character right", k("right", "ctrl+f")},
		{Edit, LineUp, "One line up", nil},
		{Edit, LineDown, "One line down", nil},
		{Edit, WordLeft, "One word left", k("alt+b", "ctrl+left", "alt+left")},
		{Edit, WordRight, "One word right", k("alt+f", "ctrl+right", "alt+right")},
		{Edit, LineStart, "Beginning of the line", k("ctrl+a", "home")},
		{Edit, LineEnd, "End of the line", k("ctrl+e", "end")},
		{Edit, TextStart, "Beginning of the text", k("ctrl+home", "alt+<")},
		{Edit, TextEnd, "End of the text", k("ctrl+end", "alt+>")},
		{Edit, DeleteLeft, "Delete the character before the cursor", k("backspace", "ctrl+h", "shift+backspace")},
		{Edit, DeleteRight, "Delete the character at the cursor", k("delete")},
		{Edit, DeleteWordLeft, "Cut the word before the cursor", k("ctrl+w", "alt+backspace", "ctrl+backspace")},
		{Edit, DeleteWordRight, "Cut the word behind the cursor", k("alt+d", "ctrl+delete", "alt+delete")},
		{Edit, KillToEnd, "Cut to the end of the line", k("ctrl+k")},
		{Edit, KillToStart, "Cut to the beginning of the line", k("ctrl+u", "super+backspace")},
		{Edit, Yank, "Put in what was cut last", k("ctrl+y")},

		{Autocomplete, AcceptSuggestion, "Take the suggestion", k("tab")},
		{Autocomplete, DismissSuggestions, "Close the suggestions", k("esc")},
		{Autocomplete, PreviousSuggestion, "Suggestion above", k("up", "ctrl+p")},
		{Autocomplete, NextSuggestion, "Suggestion below", k("down", "ctrl+n")},

		{HistorySearch, SearchNext, "Next match", k("ctrl+r")},
		{HistorySearch, SearchAccept, "Take the match into the prompt", k("esc", "tab")},
		{HistorySearch, SearchCancel, "Leave the search", k("ctrl+c", "ctrl+g")},
		{HistorySearch, SearchExecute, "Send the match", k("enter")},
		{HistorySearch, SearchScope, "Search here, or everywhere", k("ctrl+s")},

		{Confirmation, "confirm:yes", "Yes", k("enter", "y")},
		{Confirmation, "confirm:no", "No", k("esc", "n")},
		{Confirmation, "confirm:previous", "Option above", k("up")},
		{Confirmation, "confirm:next", "Option below", k("down")},
		{Confirmation, "confirm:nextField", "Next field", k("tab")},
		{Confirmation, "confirm:previousField", "Previous field", k("shift+tab")},
		{Confirmation, "confirm:toggle", "Choose or unchoose", k("space")},

		{Select, "select:next", "Next option", k("down", "ctrl+n")},
		{Select, "select:previous", "Previous option", k("up", "ctrl+p")},
		{Select, "select:pageDown", "A page down", k("pagedown")},
		{Select, "select:pageUp", "A page up", k("pageup")},
		{Select, "select:first", "First option", k("home")},
		{Select, "select:last", "Last option", k("end")},
		{Select, "select:accept", "Choose", k("enter")},
		{Select, "select:cancel", "Close", k("esc")},

		{Tabs, "tabs:next", "Next tab", k("tab", "right")},
		{Tabs, "tabs:previous", "Previous tab", k("shift+tab", "left")},

		{ModelPicker, "modelPicker:decreaseEffort", "Less effort", k("left")},
		{ModelPicker, "modelPicker:increaseEffort", "More effort", k("right")},

		{MessageSelector, "messageSelector:up", "Prompt above", k("up", "ctrl+p")},
		{MessageSelector, "messageSelector:down", "Prompt below", k("down", "ctrl+n")},
		{MessageSelector, "messageSelector:top", "First prompt", k("home")},
		{MessageSelector, "messageSelector:bottom", "Last prompt", k("end")},
		{MessageSelector, "messageSelector:select", "Choose", k("enter")},

		{Scroll, "scroll:lineUp", "A line up", k("up", "k", "ctrl+p")},
		{Scroll, "scroll:lineDown", "A line down", k("down", "j", "ctrl+n")},
		{Scroll, "scroll:fullPageUp", "A page up", k("pageup", "b")},
		{Scroll, "scroll:fullPageDown", "A page down", k("pagedown", "space")},
		{Scroll, "scroll:pageUp", "Half a page up", k("ctrl+u")},
		{Scroll, "scroll:pageDown", "Half a page down", k("ctrl+d")},
		{Scroll, "scroll:top", "To the beginning", k("home", "g")},
		{Scroll, "scroll:bottom", "To the end", k("end", "G")},

		{Transcript, "transcript:exit", "Close", k("esc", "q", "ctrl+o", "ctrl+c")},
		{Transcript, "transcript:search", "Search", k("/")},
		{Transcript, "transcript:nextMatch", "Next match", k("n")},
		{Transcript, "transcript:previousMatch", "Previous match", k("N")},
	}
})
