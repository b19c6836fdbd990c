package domain

import (
	"encoding/json"
	"fmt"
	"reflect"
)

// Kind names what an event says: noun.past_verb, or the journal state of a
// tool call. A kind is never reused for another payload.
type Kind string

// kinds lists every payload struct once; the golden files of testdata/events
// must have one file for each and decode for ever.
var kinds = func() map[Kind]reflect.Type {
	m := map[Kind]reflect.Type{}
	for _, p := range []Payload{
		SessionCreated{},
		SessionRenamed{},
		SessionArchived{},
		LeafMoved{},
		ModelSelected{},
		ModeChanged{},
		MessageSent{},
		MessageQueued{},
		MessageUnqueued{},
		MessageCompleted{},
		RunStarted{},
		RunContinued{},
		RunInterrupted{},
		RunCancelRequested{},
		RunFinished{},
		ModelCallStarted{},
		ModelCallFailed{},
		ContextCompacted{},
		ToolCallRequested{},
		GateDecided{},
		ToolCallRefused{},
		ToolCallIntent{},
		ToolCallExecuting{},
		ToolCallCompleted{},
		ToolCallFailed{},
		ToolCallUnknown{},
		ToolCallResolved{},
		ApprovalRequested{},
		ApprovalGranted{},
		ApprovalDenied{},
		ApprovalExpired{},
		GrantRevoked{},
		SandboxConsented{},
		PlanUpdated{},
		BudgetSet{},
		BudgetReserved{},
		BudgetSettled{},
		WorkspaceBased{},
		FileWritten{},
		FilesChanged{},
		HunkAccepted{},
		HunkRejected{},
		WorkspaceRestored{},
		WorkspaceAdopted{},
		ArtifactPromoted{},
		ArtifactValidated{},
		ArtifactAdopted{},
		ArtifactWithdrawn{},
	} {
		m[p.Kind()] = reflect.TypeOf(p)
	}
	return m
}()

// Kinds returns the payload type of every kind.
func Kinds() map[Kind]reflect.Type {
	out := make(map[Kind]reflect.Type, len(kinds))
	for k, t := range kinds {
		out[k] = t
	}
	return out
}

// RunnerOnly reports whether only the holder of the session's lease may append k.
// What is left is what a person, or a face on their behalf, writes.
func RunnerOnly(k Kind) bool {
	switch k {
	case SessionCreated{}.Kind(), SessionRenamed{}.Kind(), SessionArchived{}.Kind(), LeafMoved{}.Kind(),
		ModelSelected{}.Kind(), ModeChanged{}.Kind(), MessageSent{}.Kind(), MessageQueued{}.Kind(), MessageUnqueued{}.Kind(),
		RunStarted{}.Kind(), RunCancelRequested{}.Kind(), ToolCallResolved{}.Kind(),
		ApprovalGranted{}.Kind(), ApprovalDenied{}.Kind(), GrantRevoked{}.Kind(), SandboxConsented{}.Kind(), BudgetSet{}.Kind(),
		WorkspaceBased{}.Kind(), HunkAccepted{}.Kind(), HunkRejected{}.Kind(), WorkspaceRestored{}.Kind(), WorkspaceAdopted{}.Kind(),
		ArtifactPromoted{}.Kind(), ArtifactValidated{}.Kind(), ArtifactAdopted{}.Kind(), ArtifactWithdrawn{}.Kind():
		return false
	}
	return true
}

// DecodePayload decodes the payload of kind k into its struct (by value).
func DecodePayload(k Kind, raw json.RawMessage) (Payload, error) {
	t, ok := kinds[k]
	if !ok {
		return nil, Errorf(CodeInvalid, "unknown event kind %q", k)
	}
	v := reflect.New(t)
	if err := json.Unmarshal(raw, v.Interface()); err != nil {
		return nil, fmt.Errorf("decode %s: %w", k, err)
	}
	return v.Elem().Interface().(Payload), nil
}

// PayloadOf decodes e's payload as T; ok is false when e is of another kind or damaged.
func PayloadOf[T Payload](e Event) (payload T, ok bool) {
	if payload.Kind() != e.Kind {
		return payload, false
	}
	return payload, json.Unmarshal(e.Payload, &payload) == nil
}
