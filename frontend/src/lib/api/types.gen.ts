// Written by backend/internal/tsgen from backend/domain and backend/service/views.go. Do not edit.

/** "apr_…" */
export type ApprovalID = string;
/** "art_…" */
export type ArtifactID = string;
/** "call_…": one tool call */
export type CallID = string;
/** "cell_…": derived from an installation's public key */
export type CellID = string;
/** a bare ULID: one fact in the ledger */
export type EventID = string;
/** Hash is a SHA-256 digest, written as 64 hexadecimal digits. */
export type Hash = string;
/** Hex is a byte string written as hexadecimal digits. */
export type Hex = string;
/** "msg_…" */
export type MessageID = string;
/** "run_…": the work on one instruction */
export type RunID = string;
/** "ses_…": one durable conversation and its events */
export type SessionID = string;
/** "wsp_…" */
export type WorkspaceID = string;
/** RFC 3339. */
export type Time = string;

/** Capability is what a hand may do, e.g. "fs.read", "fs.write", "process.run". */
export type Capability = 'fs.read' | 'fs.write' | 'process.run' | 'plan.update' | 'artifact.promote';
/** Code classifies an error for people and programs. Unknown errors are CodeInternal to the outside and stay whole in the log. */
export type Code = 'invalid' | 'forbidden' | 'not_found' | 'conflict' | 'stale_lease' | 'finished' | 'too_large' | 'unavailable' | 'internal';
/** EffectClass decides what recovery may do with a tool call that a crash caught executing. */
export type EffectClass = 'read' | 'idempotent' | 'sandboxed' | 'effect';
/** FinishReason says why an answer ended. */
export type FinishReason = 'stop' | 'length' | 'tools';
/** Layer is one of the four layers of the gate, in order. */
export type Layer = 'ceiling' | 'policy' | 'budget' | 'approval';
/** Mode is the permission mode: convenience, never security. */
export type Mode = 'plan' | 'ask' | 'edits' | 'auto';
/** ModelState tells apart why a model did not answer; each has its own remedy. */
export type ModelState = 'down' | 'not_pulled' | 'loading' | 'queued' | 'wedged' | 'cut_off' | 'empty' | 'too_long' | 'no_tools' | 'error' | 'unauthorized' | 'busy' | 'exhausted';
/** Outcome is how a run ended. */
export type Outcome = 'done' | 'failed' | 'cancelled' | 'budget';
/** Placement says where a session's commands run. */
export type Placement = 'local' | 'remote';
/** Presence answers "is it still there?". */
export type Presence = 'yes' | 'no' | 'unknown';
/** RunState is a run's state as a person reads it. */
export type RunState = 'working' | 'waits' | 'unknown' | 'interrupted' | 'done' | 'failed' | 'stopped';
/** TaskKind says what a session works on: a repository, or loose files. */
export type TaskKind = 'coding' | 'general';
/** Verdict is a layer's answer. */
export type Verdict = 'allow' | 'ask' | 'refuse';

/** SessionCreated opens a session; always seq 1. */
export interface SessionCreated {
  v: number;
  title: string;
  taskKind: TaskKind;
  placement: Placement;
  workspace: WorkspaceID;
  /** where it was when the session began; an attribute, not the identity */
  workspacePath: string;
  model: ModelRef;
  mode: Mode;
  forkedFrom?: SessionID;
}

/** SessionRenamed gives a session another title. */
export interface SessionRenamed {
  v: number;
  title: string;
}

/** SessionArchived hides a session from the lists (Archived) or shows it again. */
export interface SessionArchived {
  v: number;
  archived: boolean;
}

/** LeafMoved makes To the end of the conversation; later events continue from there. Files are not touched by it. */
export interface LeafMoved {
  v: number;
  to: EventID;
}

/** ModelRef names a model: provider ("ollama", "openai", "practice") and its name there. */
export interface ModelRef {
  provider: string;
  name: string;
  baseUrl?: string;
  /** ContextTokens is the context window asked for; 0 lets the provider choose and say. */
  contextTokens?: number;
}

/** ModelSelected switches the session's model from the next step on. */
export interface ModelSelected {
  v: number;
  model: ModelRef;
}

/** ModeChanged switches the permission mode from the next decision on. */
export interface ModeChanged {
  v: number;
  mode: Mode;
}

/** Attachment is what a person put into a message. */
export interface Attachment {
  name: string;
  mediaType: string;
  size: number;
  /** of the original when it was taken in */
  sha256: Hash;
  /** inside the workspace, slash-separated, when it was copied there */
  path?: string;
  source?: string;
}

/** MessageSent is an instruction of the person, in the conversation. */
export interface MessageSent {
  v: number;
  messageId: MessageID;
  text: string;
  attachments?: Attachment[];
  fromQueue?: boolean;
}

/** MessageQueued waits until the run takes it: at the next step when Steer, else at its end. */
export interface MessageQueued {
  v: number;
  messageId: MessageID;
  text: string;
  attachments?: Attachment[];
  steer?: boolean;
}

/** MessageUnqueued takes a queued message back before it was sent. */
export interface MessageUnqueued {
  v: number;
  messageId: MessageID;
}

/** Usage counts what one model answer cost. */
export interface Usage {
  inputTokens: number;
  outputTokens: number;
  cachedTokens?: number;
  loadMs?: number;
  durationMs?: number;
}

/** RequestedCall is a tool call as the model wrote it. */
export interface RequestedCall {
  callId: CallID;
  /** the provider's own id, sent back with the result */
  wireId?: string;
  name: string;
  /** exactly as received; may be malformed */
  arguments: string;
}

/** MessageCompleted is one whole answer of the model; it replaces the live deltas of MessageID. */
export interface MessageCompleted {
  v: number;
  messageId: MessageID;
  text: string;
  thinking?: string;
  toolCalls?: RequestedCall[];
  model: ModelRef;
  finish: FinishReason;
  usage: Usage;
  /** the practice model: a recorded answer */
  recorded?: boolean;
}

/** Budget bounds a run; 0 means no bound of that kind. */
export interface Budget {
  tokens?: number;
  calls?: number;
  seconds?: number;
  steps?: number;
}

/** RunStarted opens a run on the instruction MessageID. */
export interface RunStarted {
  v: number;
  messageId: MessageID;
  mode: Mode;
  model: ModelRef;
  budget: Budget;
  /** what the agent may do at most in this run */
  ceiling: Capability[];
}

/** RunContinued records that a runner took the run over after an interruption or a wait. */
export interface RunContinued {
  v: number;
  /** "recovered", "approved", "asked" */
  reason: string;
}

/** RunInterrupted says what a crash or shutdown left; written by whoever finds it. */
export interface RunInterrupted {
  v: number;
  reason: string;
  lastSeq: number;
  /** effects of which nobody knows whether they happened */
  unknown?: CallID[];
  found?: Survival;
}

/** RunCancelRequested asks the runner, in whatever process, to stop. */
export interface RunCancelRequested {
  v: number;
}

/** RunFinished ends a run; nothing is appended to it afterwards. */
export interface RunFinished {
  v: number;
  outcome: Outcome;
  /** for people: what happened and what to do */
  reason?: string;
  steps: number;
  usage: Usage;
}

/** Finding is one answer of a recovery report, with its evidence in words. */
export interface Finding {
  presence: Presence;
  evidence: string;
}

/** Survival tells the four meanings of "still there" apart (R53). */
export interface Survival {
  conversation: Finding;
  files: Finding;
  processes: Finding;
  effects: Finding;
}

/** ContextSource is one piece of a context's fixed beginning. */
export interface ContextSource {
  /** "system", "AGENTS.md", … */
  label: string;
  bytes: number;
  sha256: Hash;
}

/** ModelCallStarted is on disk before the request leaves. */
export interface ModelCallStarted {
  v: number;
  messageId: MessageID;
  model: ModelRef;
  messages: number;
  tools: number;
  /** estimate before sending */
  contextTokens: number;
  contextLimit: number;
  /** the context is a pure function of the events up to here */
  lastSeq: number;
  /** Sources is what the fixed beginning was made of; given on the first call of a run. */
  sources?: ContextSource[];
}

/** ModelCallFailed says in which state the model was found and the remedy. */
export interface ModelCallFailed {
  v: number;
  messageId: MessageID;
  state: ModelState;
  message: string;
  hint?: string;
  /** text that had been streamed */
  partial?: string;
  /** another attempt follows */
  retry: boolean;
}

/** ContextCompacted lists what later model calls no longer see. */
export interface ContextCompacted {
  v: number;
  policy: string;
  /** tool results replaced by a one-line note */
  elided?: EventID[];
  /** messages and results left out whole */
  dropped?: EventID[];
  beforeTokens: number;
  afterTokens: number;
}

/** ToolCallRequested is the model's request, before any decision. */
export interface ToolCallRequested {
  v: number;
  callId: CallID;
  name: string;
  /** the arguments as received */
  input: string;
  /** why they could not be used */
  malformed?: string;
}

/** LayerDecision is one layer's answer with its reason. */
export interface LayerDecision {
  layer: Layer;
  verdict: Verdict;
  /** stable name of the rule that decided */
  rule: string;
  /** in words, for the person */
  reason: string;
}

/** GateDecided records all layers up to the one that decided. */
export interface GateDecided {
  v: number;
  callId: CallID;
  /** of the exact effect, see Effect */
  digest: Hash;
  layers: LayerDecision[];
}

/** ToolCallRefused ends a call that the gate did not let through; the model is told. */
export interface ToolCallRefused {
  v: number;
  callId: CallID;
  layer: Layer;
  rule: string;
  reason: string;
}

/** Effect is exactly what a call would do. Its digest is what a person approves and what the executor insists on. */
export interface Effect {
  tool: string;
  class: EffectClass;
  argv?: string[];
  cwd?: string;
  envKeys?: string[];
  /** hash of the sandbox spec; zero: runs in this process */
  sandbox?: Hash;
  /** "none" unless granted */
  network?: string;
  files?: FileImage[];
  /** of the canonical arguments */
  input: Hash;
}

/** FileImage is one file before and after an effect. A zero hash is "absent". The hash of a symlink is that of its target's text. */
export interface FileImage {
  /** inside the workspace, slash-separated */
  path: string;
  pre: Hash;
  post: Hash;
  /** The modes as Unix writes them (0o100644, 0o100755, 0o120777 for a symlink); 0 when the file is absent or its mode was not recorded. */
  preMode?: number;
  postMode?: number;
}

/** ToolCallIntent is what will be done, decided and digested. */
export interface ToolCallIntent {
  v: number;
  callId: CallID;
  effect: Effect;
  digest: Hash;
  idempotencyKey: string;
  attempt: number;
}

/** ToolCallExecuting is on disk before the effect begins. */
export interface ToolCallExecuting {
  v: number;
  callId: CallID;
  attempt: number;
  /** "this process", "sandbox on this machine", "unsandboxed on this machine" */
  where: string;
}

/** ToolOutput is the bounded result of a call. */
export interface ToolOutput {
  /** what the model reads */
  text: string;
  /** one short phrase for the row, e.g. "+14 −3" */
  summary?: string;
  /** of a command */
  exitCode?: number;
  signal?: string;
  timedOut?: boolean;
  /** bytes of output that are only in the spill file */
  dropped?: number;
  /** blob with the whole output */
  spill?: Hash;
  /** what the call really changed */
  files?: FileImage[];
  /** files whose content the model was given; Post is what it read */
  seen?: FileImage[];
  report?: ExitReport;
  plan?: PlanItem[];
  artifact?: ArtifactRef;
}

/** ExitReport tells how a process ended and what it used. */
export interface ExitReport {
  durationMs: number;
  userMs: number;
  systemMs: number;
  maxRssKib: number;
  /** bytes */
  stdout: number;
  /** bytes */
  stderr: number;
  /** processes that were still there and were stopped */
  left?: number;
  /** "timeout", "cancel", "output", "" */
  killedBy?: string;
}

/** ToolCallCompleted is a call that was carried out; the command itself may have exited non-zero. */
export interface ToolCallCompleted {
  v: number;
  callId: CallID;
  attempt: number;
  outputHash: Hash;
  output: ToolOutput;
  durationMs: number;
  /** found done after a crash, not run again */
  recovered?: boolean;
}

/** ToolCallFailed is a call that certainly had no effect or a known partial one; the model reads Message. */
export interface ToolCallFailed {
  v: number;
  callId: CallID;
  attempt: number;
  code: Code;
  message: string;
  hint?: string;
  files?: FileImage[];
}

/** ToolCallUnknown is a call of which nobody can say whether its effect happened. It is never retried by itself. */
export interface ToolCallUnknown {
  v: number;
  callId: CallID;
  attempt: number;
  /** what is known, in words */
  known: string;
}

/** ToolCallResolved is a person's decision on an unknown call. */
export interface ToolCallResolved {
  v: number;
  callId: CallID;
  /** "retry", "done", "skip" */
  resolution: string;
  note?: string;
}

/** ApprovalRequested asks the person. Digest binds the answer to the exact effect. */
export interface ApprovalRequested {
  v: number;
  approvalId: ApprovalID;
  callId: CallID;
  digest: Hash;
  tool: string;
  /** one line: what it would do */
  title: string;
  /** the whole command or the whole diff, never cut */
  shown: string;
  /** "command", "diff" or "text" */
  shownKind: string;
  layer: Layer;
  rule: string;
  reason: string;
  /** paths, "network", "secrets", in words */
  touches?: string[];
  /** what "allow…" could create */
  scopes?: GrantScope[];
  deadline?: Time;
}

/** GrantScope is a standing permission in exact words. */
export interface GrantScope {
  /** e.g. "session:bash:pytest -q" */
  id: string;
  /** its exact meaning */
  words: string;
}

/** ApprovalGranted is a yes to exactly Digest, and to Scope for later calls when given. */
export interface ApprovalGranted {
  v: number;
  approvalId: ApprovalID;
  callId: CallID;
  digest: Hash;
  by: string;
  scope?: GrantScope;
}

/** ApprovalDenied is a no, with what the agent should know. */
export interface ApprovalDenied {
  v: number;
  approvalId: ApprovalID;
  callId: CallID;
  by: string;
  note?: string;
}

/** ApprovalExpired closes a request that nobody can answer any more. */
export interface ApprovalExpired {
  v: number;
  approvalId: ApprovalID;
  callId: CallID;
  reason: string;
}

/** GrantRevoked takes a standing permission back. */
export interface GrantRevoked {
  v: number;
  scope: string;
}

/** SandboxConsented is the person's explicit consent to run commands of this session unsandboxed. */
export interface SandboxConsented {
  v: number;
  by: string;
  /** why there is no sandbox */
  reason: string;
  revoked?: boolean;
}

/** PlanItem is one line of the visible to-do list. */
export interface PlanItem {
  text: string;
  /** "pending", "in_progress", "completed" */
  status: string;
}

/** PlanUpdated replaces the to-do list. */
export interface PlanUpdated {
  v: number;
  callId: CallID;
  items: PlanItem[];
}

/** BudgetSet changes the budget of the running run. */
export interface BudgetSet {
  v: number;
  budget: Budget;
}

/** BudgetReserved sets an amount aside before it is spent. */
export interface BudgetReserved {
  v: number;
  /** the message or call id */
  for: string;
  tokens?: number;
  calls?: number;
}

/** BudgetSettled replaces a reservation by what was really spent. */
export interface BudgetSettled {
  v: number;
  for: string;
  tokens?: number;
  calls?: number;
}

/** WorkspaceBased names the snapshot that the session's changes are measured against. */
export interface WorkspaceBased {
  v: number;
  snapshot: string;
  treeHash: Hash;
  files: number;
  bytes: number;
  /** files too large to keep: changes to them are seen, not shown */
  skipped?: number;
  /** branch and commit at that time */
  git?: string;
}

/** FileWritten is one write of a hand, with both images. */
export interface FileWritten {
  v: number;
  callId: CallID;
  file: FileImage;
  mode?: number;
}

/** FilesChanged lists what a command changed in the workspace, found by comparing before and after. */
export interface FilesChanged {
  v: number;
  callId: CallID;
  files: FileImage[];
  beforeTree: Hash;
  afterTree: Hash;
}

/** HunkAccepted moves the review base of Path forward by some hunks (all: Hunks empty). */
export interface HunkAccepted {
  v: number;
  path: string;
  /** hunk ids */
  hunks?: string[];
  /** review base before */
  before: Hash;
  /** review base after */
  after: Hash;
  by: string;
}

/** HunkRejected takes hunks out of the file in the workspace. */
export interface HunkRejected {
  v: number;
  hunks?: string[];
  file: FileImage;
  by: string;
}

/** WorkspaceRestored puts files back to what they were before the session's writes. */
export interface WorkspaceRestored {
  v: number;
  files: FileImage[];
  /** the restore that this one undoes */
  undo?: EventID;
  by: string;
}

/** WorkspaceAdopted says the person took the session's changes over. */
export interface WorkspaceAdopted {
  v: number;
  paths: string[];
  /** "accepted", "committed" */
  how: string;
  commit?: string;
  by: string;
}

/** ArtifactRef names one revision of an artifact. */
export interface ArtifactRef {
  id: ArtifactID;
  name: string;
  revision: number;
  mediaType: string;
  sha256: Hash;
  size: number;
}

/** ArtifactPromoted: a file became a kept output (produced). */
export interface ArtifactPromoted {
  v: number;
  callId?: CallID;
  artifact: ArtifactRef;
  /** path inside the workspace */
  source: string;
  by: string;
}

/** ArtifactValidated: a check passed on exactly these bytes (validated). */
export interface ArtifactValidated {
  v: number;
  artifact: ArtifactRef;
  check: string;
  by: string;
}

/** ArtifactAdopted: the person took it (adopted), e.g. saved it to a place of theirs. */
export interface ArtifactAdopted {
  v: number;
  artifact: ArtifactRef;
  savedTo?: string;
  by: string;
}

/** ArtifactWithdrawn: not wanted any more; the bytes stay until deleted. */
export interface ArtifactWithdrawn {
  v: number;
  artifact: ArtifactRef;
  by: string;
}

/** ModelInfo describes a model that can be chosen. */
export interface ModelInfo {
  provider: string;
  name: string;
  tools: boolean;
  thinking?: boolean;
  vision?: boolean;
  /** its own maximum; 0 unknown */
  contextTokens: number;
  loaded?: boolean;
  /** bytes on disk */
  size?: number;
  recorded?: boolean;
  /** the provider passes what it is given on to another machine */
  remote?: boolean;
}

/** Live is a piece of an answer or of a command's output before it is committed. Offset and TOffset count the bytes of UTF-8 sent before this piece of Text and of Thinking. */
export interface Live {
  session: SessionID;
  /** message id or call id */
  id: string;
  output?: boolean;
  offset: number;
  text?: string;
  thinkingOffset?: number;
  thinking?: string;
  status?: string;
}

/** Bootstrap is the first thing a page asks for. */
export interface Bootstrap {
  version: string;
  cell: CellID;
  /** "window" or "browser" */
  face: string;
  dataDir: string;
  firstStart: boolean;
  asRoot: boolean;
  /** banners: no sandbox, running as root, … */
  notices: Notice[];
  workspaces: WorkspaceView[];
  sessions: SessionView[];
  approvals: ApprovalView[];
  /** chosen for new sessions */
  model: ModelRef;
  /** ledger position this answer is true at */
  cursor: number;
}

/** Notice is a lasting remark with its remedy. */
export interface Notice {
  /** "root", "no_sandbox", "practice_model", … */
  id: string;
  /** "info", "warning", "error" */
  level: string;
  text: string;
  hint?: string;
}

/** WorkspaceView is a workspace in a list. */
export interface WorkspaceView {
  id: WorkspaceID;
  name: string;
  path: string;
  taskKind: TaskKind;
  /** "present", "missing", "replaced" */
  state: string;
  trusted: boolean;
  /** files that are loaded only after trust, e.g. AGENTS.md */
  gated: string[];
  git?: GitView;
  /** "sandboxed" or why not */
  sandbox: string;
}

/** GitView is the Git status of a workspace. */
export interface GitView {
  /** "" when detached */
  branch: string;
  /** "" when unborn */
  commit: string;
  changed: number;
  detached?: boolean;
}

/** SessionView is a session in a list and the head of an open one. */
export interface SessionView {
  id: SessionID;
  title: string;
  workspace: WorkspaceID;
  taskKind: TaskKind;
  placement: Placement;
  model: ModelRef;
  mode: Mode;
  /** the newest */
  run?: RunView;
  lastSeq: number;
  createdAt: Time;
  updatedAt: Time;
  archived?: boolean;
  /** open approvals */
  waiting: number;
  /** commands run unsandboxed by consent */
  consented?: boolean;
}

/** RunView is the state of a run. */
export interface RunView {
  id: RunID;
  state: RunState;
  reason?: string;
  startedAt: Time;
  finishedAt?: Time;
  steps: number;
  usage: Usage;
  budget: Budget;
  /** this process runs it */
  here: boolean;
  survival?: Survival;
  unknown?: CallID[];
}

/** ApprovalView is an open request in the inbox. */
export interface ApprovalView {
  session: SessionID;
  /** the session's */
  title: string;
  run: RunID;
  seq: number;
  at: Time;
  request: ApprovalRequested;
}

/** Receipt answers a submission: accepted is not done. */
export interface Receipt {
  session: SessionID;
  run: RunID;
  pending: boolean;
  durable: boolean;
  /** waits in the queue of a run that is going on */
  queued: boolean;
  reason?: string;
}

/** ChangesView is what differs between the session's review base and the workspace now. */
export interface ChangesView {
  session: SessionID;
  /** false: nothing was done in the workspace yet */
  based: boolean;
  files: FileChange[];
  /** open */
  hunks: number;
  /** hunks accepted so far in this session */
  accepted: number;
  rejected: number;
  /** proposed commit message */
  message: string;
  git?: GitView;
}

/** FileChange is one changed file. */
export interface FileChange {
  path: string;
  /** "added", "modified", "deleted" */
  status: string;
  binary?: boolean;
  tooBig?: boolean;
  added: number;
  removed: number;
  /** review base */
  pre: Hash;
  /** in the workspace now */
  post: Hash;
  /** changed since by something other than this session */
  byYou: boolean;
  hunks: Hunk[];
}

/** Hunk is one reviewable piece; its id is the hash of its content and place. */
export interface Hunk {
  id: string;
  /** 1-based */
  oldStart: number;
  oldLines: number;
  newStart: number;
  newLines: number;
  /** nearest line above that names a function or heading */
  section?: string;
  lines: DiffLine[];
}

/** DiffLine is one line of a hunk. */
export interface DiffLine {
  /** " ", "+", "-" */
  op: string;
  text: string;
  /** no newline at the end of the file */
  noNl?: boolean;
}

/** ReviewAnswer is the result of an accept, reject or restore. */
export interface ReviewAnswer {
  changes: ChangesView;
  /** what was not done and why */
  skipped?: string[];
}

/** ArtifactView is one artifact with its three separate facts. */
export interface ArtifactView {
  ref: ArtifactRef;
  session: SessionID;
  source: string;
  produced?: Mark;
  validated?: Mark;
  adopted?: Mark;
  withdrawn?: Mark;
  savedTo?: string;
  check?: string;
  /** "text", "markdown", "image", "csv", "none" */
  previewed: string;
}

/** Mark is who did something when. */
export interface Mark {
  at: Time;
  by: string;
}

/** ModelsView lists what can be chosen and what is missing. */
export interface ModelsView {
  chosen: ModelRef;
  models: ModelInfo[];
  providers: ProviderView[];
}

/** ProviderView tells the state of one provider with its remedy. */
export interface ProviderView {
  name: string;
  /** "" is fine */
  state: ModelState | '';
  message?: string;
  hint?: string;
  baseUrl?: string;
}

/** DoctorView says what works here, what does not, and the remedy. */
export interface DoctorView {
  checks: Check[];
}

/** Check is one line of the doctor. */
export interface Check {
  name: string;
  ok: boolean;
  /** "ok", "missing", "degraded", "failed" */
  state: string;
  detail: string;
  hint?: string;
}

/** Settings are the person's choices. */
export interface Settings {
  /** "system", "light", "dark", "contrast" */
  theme: string;
  model: ModelRef;
  mode: Mode;
  budget: Budget;
  ollamaUrl: string;
  openaiUrl: string;
}

/** NewSession asks for a session; an empty title is taken from the first message. */
export interface NewSession {
  workspace: WorkspaceID;
  title?: string;
  taskKind?: TaskKind;
  mode?: Mode;
  model?: ModelRef;
}

/** NewMessage is what the person sends. While a run goes on it is queued. */
export interface NewMessage {
  text: string;
  attachments?: Attachment[];
  steer?: boolean;
  budget?: Budget;
}

/** ApprovalAnswer answers a request. Digest must be the one that was shown. */
export interface ApprovalAnswer {
  /** "grant" or "deny" */
  decision: string;
  digest: Hash;
  /** id of one of the offered scopes */
  scope?: string;
  note?: string;
}

/** ReviewRequest names hunks of a file; no hunks is the whole file, no path is everything. */
export interface ReviewRequest {
  path?: string;
  hunks?: string[];
  /** the state that was shown; anything else is refused */
  post?: Hash;
}

/** SearchHit is one event that matches a search. */
export interface SearchHit {
  session: SessionID;
  title: string;
  seq: number;
  at: Time;
  snippet: string;
}

/** Frame is one line of the stream (NDJSON). */
export interface Frame {
  /** "event", "delta", "output", "changes", "gap", "ping", "session" */
  type: string;
  event?: Event;
  live?: Live;
  /** "changes": look again; "session": its view follows */
  session?: SessionID;
  view?: SessionView;
  /** "ping", "gap": ledger position; read on from here */
  cursor?: number;
}

/** The payload of every kind of event. */
export interface EventPayloads {
  'session.created': SessionCreated;
  'session.renamed': SessionRenamed;
  'session.archived': SessionArchived;
  'leaf.moved': LeafMoved;
  'model.selected': ModelSelected;
  'mode.changed': ModeChanged;
  'message.sent': MessageSent;
  'message.queued': MessageQueued;
  'message.unqueued': MessageUnqueued;
  'message.completed': MessageCompleted;
  'run.started': RunStarted;
  'run.continued': RunContinued;
  'run.interrupted': RunInterrupted;
  'run.cancel_requested': RunCancelRequested;
  'run.finished': RunFinished;
  'model_call.started': ModelCallStarted;
  'model_call.failed': ModelCallFailed;
  'context.compacted': ContextCompacted;
  'tool_call.requested': ToolCallRequested;
  'gate.decided': GateDecided;
  'tool_call.refused': ToolCallRefused;
  'tool_call.intent': ToolCallIntent;
  'tool_call.executing': ToolCallExecuting;
  'tool_call.completed': ToolCallCompleted;
  'tool_call.failed': ToolCallFailed;
  'tool_call.unknown': ToolCallUnknown;
  'tool_call.resolved': ToolCallResolved;
  'approval.requested': ApprovalRequested;
  'approval.granted': ApprovalGranted;
  'approval.denied': ApprovalDenied;
  'approval.expired': ApprovalExpired;
  'grant.revoked': GrantRevoked;
  'sandbox.consented': SandboxConsented;
  'plan.updated': PlanUpdated;
  'budget.set': BudgetSet;
  'budget.reserved': BudgetReserved;
  'budget.settled': BudgetSettled;
  'workspace.based': WorkspaceBased;
  'file.written': FileWritten;
  'files.changed': FilesChanged;
  'hunk.accepted': HunkAccepted;
  'hunk.rejected': HunkRejected;
  'workspace.restored': WorkspaceRestored;
  'workspace.adopted': WorkspaceAdopted;
  'artifact.promoted': ArtifactPromoted;
  'artifact.validated': ArtifactValidated;
  'artifact.adopted': ArtifactAdopted;
  'artifact.withdrawn': ArtifactWithdrawn;
}

export type Kind = keyof EventPayloads;

/** What every event has, whatever its kind. */
export interface EventHead {
  /** position in the whole ledger, gap-free from 1; the cursor of streams */
  pos: number;
  session: SessionID;
  seq: number;
  id: EventID;
  parent?: EventID;
  causedBy?: EventID;
  run?: RunID;
  /** UTC, microseconds; for people, never for order */
  createdAt: Time;
  cell: CellID;
  /** fencing token of the lease it was written under; 0 for what a person did */
  generation: number;
  payloadHash: Hash;
  prevHash: Hash;
  hash: Hash;
  /** 16 random bytes hashed in front of the payload, so that a redacted one cannot be guessed */
  salt: Hex;
  /** Ed25519 over Hash by the cell's key */
  sig: Hex;
}

/** One event of kind K with its payload. */
export type EventOf<K extends Kind> = EventHead & { kind: K; payload: EventPayloads[K] };

/** Any event: tell them apart by `kind`. */
export type Event = { [K in Kind]: EventOf<K> }[Kind];
