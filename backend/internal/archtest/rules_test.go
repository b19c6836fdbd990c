package archtest

// layer says what one package, and those below it, may import of ours. The
// longest matching path decides; a package may always import what is below it.
type layer struct {
	path  string   // from the module's root; "." is the root itself
	below bool     // its sub-packages follow the same rule
	may   []string // with what is below them
	why   string
}

const (
	ground   = "rule 1: the ground knows nothing of ours"
	leaf     = "rule 3: a leaf knows the domain, and never a sibling"
	storage  = "rule 2: the ledger and the memory are owners of their own; they know the domain and their engine"
	consumer = "rule 4: the loop declares what it needs, so that it runs in a test with fakes"
	face     = "rule 6: a face knows the use cases and the words, nothing beneath them"
	joins    = "rule 6: the service joins everything below it and knows no face"
	tool     = "a tool of the build; no product package imports it"
)

// beneath is everything that the service may join.
var beneath = []string{
	"backend/artifact", "backend/blob", "backend/capability", "backend/config", "backend/domain", "backend/failpoint", "backend/filelock",
	"backend/hands", "backend/harness", "backend/model", "backend/policy", "backend/process", "backend/sandbox", "backend/stream",
	"backend/workspace", "sessions",
}

var layers = []layer{
	{"backend/domain", false, nil, ground},
	{"backend/filelock", false, nil, ground},
	{"backend/failpoint", false, nil, ground + "; it is empty in the product"},
	{"frontend", false, nil, "the built page is served by the standard library"},

	{"backend/process", false, []string{"backend/domain"}, leaf},
	{"backend/blob", false, []string{"backend/domain", "backend/failpoint", "backend/filelock"}, leaf},
	{"backend/config", false, []string{"backend/domain"}, leaf},
	{"backend/capability", false, []string{"backend/domain"}, leaf},
	{"backend/model", true, []string{"backend/domain"}, leaf},
	{"backend/policy", false, []string{"backend/domain"}, leaf},
	{"backend/artifact", true, []string{"backend/domain", "backend/failpoint", "backend/blob", "backend/filelock"}, leaf + "; bytes live in the blob store"},
	{"backend/sandbox", true, []string{"backend/domain", "backend/failpoint", "backend/process"}, leaf + "; it starts processes"},
	{"backend/workspace", true, []string{"backend/domain", "backend/failpoint", "backend/blob", "backend/filelock", "backend/process"}, leaf + "; it keeps pre-images and asks Git"},
	{"backend/hands", true, []string{"backend/domain", "backend/capability", "backend/workspace/diff"}, "rule 3: diff is plain arithmetic over text; hands reach sandbox, workspace and artifacts through interfaces they declare"},
	{"backend/harness", true, []string{"backend/domain", "backend/failpoint"}, consumer},
	{"backend/stream", false, []string{"backend/domain"}, "rule 5: history comes through an interface of its own"},
	{"sessions", true, []string{"backend/domain", "backend/failpoint", "backend/filelock"}, storage},

	{"backend/service", true, beneath, joins},
	{"backend/server", false, []string{"backend/service", "backend/domain"}, face},
	{"backend/cli", true, []string{"backend/service", "backend/server", "backend/domain"}, face + "; the command line starts the server"},
	{"app", false, []string{"backend/service", "backend/domain", "backend/filelock"}, face},
	{"backend/cmd/worksite", false, []string{"backend/cli", "backend/config", "frontend"}, "it joins the command line and the page"},
	{".", false, []string{"app", "backend/config", "backend/domain", "backend/server", "backend/service", "frontend"}, "it joins the window and the page"},

	{"backend/internal/archtest", false, nil, tool},
	{"backend/internal/conformance", false, nil, tool},
	{"backend/internal/tsgen", false, nil, tool},
	{"backend/internal/bench", false, []string{"backend/domain", "backend/model/modeltest", "backend/process", "backend/server", "backend/service", "sessions"}, tool + "; it measures all of it from outside"},
	{"backend/internal/seed", false, []string{"backend/domain", "backend/model/modeltest", "backend/service", "backend/workspace", "sessions"}, tool + "; it writes data for tests of the page"},
	{"e2e", true, nil, "end-to-end tests have no code of their own outside tests"},
}

// confined says which packages alone may import a module or package from outside.
type confined struct {
	prefix string
	to     []string // with what is below them; tests are free
	why    string
}

var confinements = []confined{
	{"os/exec", []string{"backend/process"}, "one place starts processes"},
	{"github.com/wailsapp/", []string{"app"}, "rule 7: should the window shell ever change, only app changes"},
	{"github.com/godbus/dbus/", []string{"app"}, "only the window talks to the desktop"},
	{"github.com/mattn/go-sqlite3", []string{"sessions", "backend/artifact", "backend/workspace"}, "only stores know their engine"},
	{"github.com/ollama/ollama/", []string{"backend/model"}, "only its provider knows the wire"},
	{"github.com/openai/openai-go/", []string{"backend/model"}, "only its provider knows the wire"},
	{"github.com/alecthomas/kong", []string{"backend/cli"}, "only the command line parses flags"},
	{"net/http", []string{"app", "backend/server", "backend/cli", "backend/model", "frontend", "backend/hands/read", "backend/internal/bench"}, "the network is for faces and model providers; read asks it for a media type only, and the bench plays a page"},
	{"testing", nil, "rule 8: test code stays in tests"},
}

// cgo is all C that the command line may link.
var cgo = []string{"github.com/mattn/go-sqlite3"}
