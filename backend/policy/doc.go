// Package policy decides whether a prepared tool call may run. [Decide] is a pure
// function with four layers in a fixed order: ceiling, policy, budget, approval.
// Each answers with the rule it went by and the reason in words, and no later
// layer widens what an earlier one said. The permission mode is part of the last
// layer: it is convenience, the three before it are the security.
//
// Rules of a person, a workspace or an organisation can forbid or ask, never
// allow. Shell text is parsed ([Analyze]) so that such rules see through pipes,
// redirects, substitutions and wrappers; what the parser cannot see makes the gate
// ask, and nothing it sees makes the gate allow.
//
// [Meter] keeps reservations of a budget.
//
// It imports domain only, of this module; it does no I/O.
package policy
