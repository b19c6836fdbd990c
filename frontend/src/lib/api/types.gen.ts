// Written by backend/internal/tsgen from backend/domain and backend/service/views.go. Do not edit.

export type ApprovalID = string;
export type ArtifactID = string;
export type CallID = string;
export type CellID = string;
export type EventID = string;
export type MessageID = string;
export type RunID = string;
export type SessionID = string;
export type WorkspaceID = string;
/** SHA-256 as 64 hexadecimal digits; empty when absent. */
export type Hash = string;
/** Bytes as hexadecimal digits. */
export type Hex = string;
/** RFC 3339. */
export type Time = string;

export type Capability = 'fs.read' | 'fs.write' | 'process.run' | 'plan.update' | 'artifact.promote';
export type Code = 'invalid' | 'forbidden' | 'not_found' | 'conflict' | 'stale_lease' | 'finished' | 'too_large' | 'unavailable' | 'internal';
export type EffectClass = 'read' | 'idempotent' | 'sandboxed' | 'effect';
export type FinishReason = 'stop' | 'length' | 'tools';
export type Layer = 'ceiling' | 'policy' | 'budget' | 'approval';
export type Mode = 'plan' | 'ask' | 'edits' | 'auto';
export type ModelState = 'down' | 'not_pulled' | 'loading' | 'queued' | 'wedged' | 'cut_off' | 'empty' | 'too_long' | 'no_tools' | 'error' | 'unauthorized' | 'busy' | 'exhausted';
export type Outcome = 'done' | 'failed' | 'cancelled' | 'budget';
export type Placement = 'local' | 'remote';
export type Presence = 'yes' | 'no' | 'unknown';
export type RunState = 'working' | 'waits' | 'unknown' | 'interrupted' | 'done' | 'failed' | 'stopped';
export type TaskKind = 'coding' | 'general';
export type Verdict = 'allow' | 'ask' | 'refuse';

export interface SessionCreated {
  v: number;
  title: string;
  taskKind: TaskKind;
  placement: Placement;
  workspace: WorkspaceID;
  workspacePath: string;
  model: ModelRef;
  mode: Mode;
  forkedFrom?: SessionID;
}
export interface SessionRenamed {
  v: number;
  title: string;
}
export interface SessionArchived {
  v: number;
  archived: boolean;
}
export interface LeafMoved {
  v: number;
  to: EventID;
}
export interface ModelRef {
  provider: string;
  name: string;
  baseUrl?: string;
  contextTokens?: number;
}
export interface ModelSelected {
  v: number;
  model: ModelRef;
}
export interface ModeChanged {
  v: number;
  mode: Mode;
}
export interface Attachment {
  name: string;
  mediaType: string;
  size: number;
  sha256: Hash;
  path?: string;
  source?: string;
}
export interface MessageSent {
  v: number;
  messageId: MessageID;
  text: string;
  attachments?: Attachment[];
  fromQueue?: boolean;
}
export interface MessageQueued {
  v: number;
  messageId: MessageID;
  text: string;
  attachments?: Attachment[];
  steer?: boolean;
}
export interface MessageUnqueued {
  v: number;
  messageId: MessageID;
}
export interface Usage {
  inputTokens: number;
  outputTokens: number;
  cachedTokens?: number;
  loadMs?: number;
  durationMs?: number;
}
export interface RequestedCall {
  callId: CallID;
  wireId?: string;
  name: string;
  arguments: string;
}
export interface MessageCompleted {
  v: number;
  messageId: MessageID;
  text: string;
  thinking?: string;
  toolCalls?: RequestedCall[];
  model: ModelRef;
  finish: FinishReason;
  usage: Usage;
  recorded?: boolean;
}
export interface Budget {
  tokens?: number;
  calls?: number;
  seconds?: number;
  steps?: number;
}
export interface RunStarted {
  v: number;
  messageId: MessageID;
  mode: Mode;
  model: ModelRef;
  budget: Budget;
  ceiling: Capability[];
}
export interface RunContinued {
  v: number;
  reason: string;
}
export interface RunInterrupted {
  v: number;
  reason: string;
  lastSeq: number;
  unknown?: CallID[];
  found?: Survival;
}
export interface RunCancelRequested {
  v: number;
}
export interface RunFinished {
  v: number;
  outcome: Outcome;
  reason?: string;
  steps: number;
  usage: Usage;
}
export interface Finding {
  presence: Presence;
  evidence: string;
}
export interface Survival {
  conversation: Finding;
  files: Finding;
  processes: Finding;
  effects: Finding;
}
export interface ModelCallStarted {
  v: number;
  messageId: MessageID;
  model: ModelRef;
  messages: number;
  tools: number;
  contextTokens: number;
  contextLimit: number;
  lastSeq: number;
}
export interface ModelCallFailed {
  v: number;
  messageId: MessageID;
  state: ModelState;
  message: string;
  hint?: string;
  partial?: string;
  retry: boolean;
}
export interface ContextCompacted {
  v: number;
  policy: string;
  elided?: EventID[];
  dropped?: EventID[];
  beforeTokens: number;
  afterTokens: number;
}
export interface ToolCallRequested {
  v: number;
  callId: CallID;
  name: string;
  input: string;
  malformed?: string;
}
export interface LayerDecision {
  layer: Layer;
  verdict: Verdict;
  rule: string;
  reason: string;
}
export interface GateDecided {
  v: number;
  callId: CallID;
  digest: Hash;
  layers: LayerDecision[];
}
export interface ToolCallRefused {
  v: number;
  callId: CallID;
  layer: Layer;
  rule: string;
  reason: string;
}
export interface Effect {
  tool: string;
  class: EffectClass;
  argv?: string[];
  cwd?: string;
  envKeys?: string[];
  sandbox?: Hash;
  network?: string;
  files?: FileImage[];
  input: Hash;
}
export interface FileImage {
  path: string;
  pre: Hash;
  post: Hash;
}
export interface ToolCallIntent {
  v: number;
  callId: CallID;
  effect: Effect;
  digest: Hash;
  idempotencyKey: string;
  attempt: number;
}
export interface ToolCallExecuting {
  v: number;
  callId: CallID;
  attempt: number;
  where: string;
}
export interface ToolOutput {
  text: string;
  summary?: string;
  exitCode?: number;
  signal?: string;
  timedOut?: boolean;
  dropped?: number;
  spill?: Hash;
  files?: FileImage[];
  report?: ExitReport;
  plan?: PlanItem[];
  artifact?: ArtifactRef;
}
export interface ExitReport {
  durationMs: number;
  userMs: number;
  systemMs: number;
  maxRssKib: number;
  stdout: number;
  stderr: number;
  left?: number;
  killedBy?: string;
}
export interface ToolCallCompleted {
  v: number;
  callId: CallID;
  attempt: number;
  outputHash: Hash;
  output: ToolOutput;
  durationMs: number;
  recovered?: boolean;
}
export interface ToolCallFailed {
  v: number;
  callId: CallID;
  attempt: number;
  code: Code;
  message: string;
  hint?: string;
  files?: FileImage[];
}
export interface ToolCallUnknown {
  v: number;
  callId: CallID;
  attempt: number;
  known: string;
}
export interface ToolCallResolved {
  v: number;
  callId: CallID;
  resolution: string;
  note?: string;
}
export interface ApprovalRequested {
  v: number;
  approvalId: ApprovalID;
  callId: CallID;
  digest: Hash;
  tool: string;
  title: string;
  shown: string;
  shownKind: string;
  layer: Layer;
  rule: string;
  reason: string;
  touches?: string[];
  scopes?: GrantScope[];
  deadline?: Time;
}
export interface GrantScope {
  id: string;
  words: string;
}
export interface ApprovalGranted {
  v: number;
  approvalId: ApprovalID;
  callId: CallID;
  digest: Hash;
  by: string;
  scope?: GrantScope;
}
export interface ApprovalDenied {
  v: number;
  approvalId: ApprovalID;
  callId: CallID;
  by: string;
  note?: string;
}
export interface ApprovalExpired {
  v: number;
  approvalId: ApprovalID;
  callId: CallID;
  reason: string;
}
export interface GrantRevoked {
  v: number;
  scope: string;
}
export interface SandboxConsented {
  v: number;
  by: string;
  reason: string;
  revoked?: boolean;
}
export interface PlanItem {
  text: string;
  status: string;
}
export interface PlanUpdated {
  v: number;
  callId: CallID;
  items: PlanItem[];
}
export interface BudgetSet {
  v: number;
  budget: Budget;
}
export interface BudgetReserved {
  v: number;
  for: string;
  tokens?: number;
  calls?: number;
}
export interface BudgetSettled {
  v: number;
  for: string;
  tokens?: number;
  calls?: number;
}
export interface WorkspaceBased {
  v: number;
  snapshot: string;
  treeHash: Hash;
  files: number;
  bytes: number;
  skipped?: number;
  git?: string;
}
export interface FileWritten {
  v: number;
  callId: CallID;
  file: FileImage;
  mode?: number;
}
export interface FilesChanged {
  v: number;
  callId: CallID;
  files: FileImage[];
  beforeTree: Hash;
  afterTree: Hash;
}
export interface HunkAccepted {
  v: number;
  path: string;
  hunks?: string[];
  before: Hash;
  after: Hash;
  by: string;
}
export interface HunkRejected {
  v: number;
  hunks?: string[];
  file: FileImage;
  by: string;
}
export interface WorkspaceRestored {
  v: number;
  files: FileImage[];
  undo?: EventID;
  by: string;
}
export interface WorkspaceAdopted {
  v: number;
  paths: string[];
  how: string;
  commit?: string;
  by: string;
}
export interface ArtifactRef {
  id: ArtifactID;
  name: string;
  revision: number;
  mediaType: string;
  sha256: Hash;
  size: number;
}
export interface ArtifactPromoted {
  v: number;
  callId?: CallID;
  artifact: ArtifactRef;
  source: string;
  by: string;
}
export interface ArtifactValidated {
  v: number;
  artifact: ArtifactRef;
  check: string;
  by: string;
}
export interface ArtifactAdopted {
  v: number;
  artifact: ArtifactRef;
  savedTo?: string;
  by: string;
}
export interface ArtifactWithdrawn {
  v: number;
  artifact: ArtifactRef;
  by: string;
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
  pos: number;
  session: SessionID;
  seq: number;
  id: EventID;
  parent?: EventID;
  causedBy?: EventID;
  run?: RunID;
  createdAt: Time;
  cell: CellID;
  generation: number;
  payloadHash: Hash;
  prevHash: Hash;
  hash: Hash;
  salt: Hex;
  sig: Hex;
}

/** One event of kind K with its payload. */
export type EventOf<K extends Kind> = EventHead & { kind: K; payload: EventPayloads[K] };

/** Any event: tell them apart by `kind`. */
export type Event = { [K in Kind]: EventOf<K> }[Kind];

export interface ModelInfo {
  provider: string;
  name: string;
  tools: boolean;
  thinking?: boolean;
  vision?: boolean;
  contextTokens: number;
  loaded?: boolean;
  size?: number;
  recorded?: boolean;
}
export interface Bootstrap {
  version: string;
  cell: CellID;
  face: string;
  dataDir: string;
  firstStart: boolean;
  asRoot: boolean;
  notices: Notice[];
  workspaces: WorkspaceView[];
  sessions: SessionView[];
  approvals: ApprovalView[];
  model: ModelRef;
  cursor: number;
}
export interface Notice {
  id: string;
  level: string;
  text: string;
  hint?: string;
}
export interface WorkspaceView {
  id: WorkspaceID;
  name: string;
  path: string;
  taskKind: TaskKind;
  state: string;
  trusted: boolean;
  gated: string[];
  git?: GitView;
  sandbox: string;
}
export interface GitView {
  branch: string;
  commit: string;
  changed: number;
  detached?: boolean;
}
export interface SessionView {
  id: SessionID;
  title: string;
  workspace: WorkspaceID;
  taskKind: TaskKind;
  placement: Placement;
  model: ModelRef;
  mode: Mode;
  run?: RunView;
  lastSeq: number;
  createdAt: Time;
  updatedAt: Time;
  archived?: boolean;
  waiting: number;
  consented?: boolean;
}
export interface RunView {
  id: RunID;
  state: RunState;
  reason?: string;
  startedAt: Time;
  finishedAt?: Time;
  steps: number;
  usage: Usage;
  budget: Budget;
  here: boolean;
  survival?: Survival;
  unknown?: CallID[];
}
export interface ApprovalView {
  session: SessionID;
  title: string;
  run: RunID;
  seq: number;
  at: Time;
  request: ApprovalRequested;
}
export interface Receipt {
  session: SessionID;
  run: RunID;
  pending: boolean;
  durable: boolean;
  queued: boolean;
  reason?: string;
}
export interface ChangesView {
  session: SessionID;
  based: boolean;
  files: FileChange[];
  hunks: number;
  accepted: number;
  rejected: number;
  message: string;
  git?: GitView;
}
export interface FileChange {
  path: string;
  status: string;
  binary?: boolean;
  tooBig?: boolean;
  added: number;
  removed: number;
  pre: Hash;
  post: Hash;
  byYou: boolean;
  hunks: Hunk[];
}
export interface Hunk {
  id: string;
  oldStart: number;
  oldLines: number;
  newStart: number;
  newLines: number;
  section?: string;
  lines: DiffLine[];
}
export interface DiffLine {
  op: string;
  text: string;
  noNl?: boolean;
}
export interface ReviewAnswer {
  changes: ChangesView;
  skipped?: string[];
}
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
  previewed: string;
}
export interface Mark {
  at: Time;
  by: string;
}
export interface ModelsView {
  chosen: ModelRef;
  models: ModelInfo[];
  providers: ProviderView[];
}
export interface ProviderView {
  name: string;
  state: ModelState | '';
  message?: string;
  hint?: string;
  baseUrl?: string;
}
export interface DoctorView {
  checks: Check[];
}
export interface Check {
  name: string;
  ok: boolean;
  state: string;
  detail: string;
  hint?: string;
}
export interface Settings {
  theme: string;
  model: ModelRef;
  mode: Mode;
  budget: Budget;
  ollamaUrl: string;
  openaiUrl: string;
}
export interface NewSession {
  workspace: WorkspaceID;
  title?: string;
  taskKind?: TaskKind;
  mode?: Mode;
  model?: ModelRef;
}
export interface NewMessage {
  text: string;
  attachments?: Attachment[];
  steer?: boolean;
  budget?: Budget;
}
export interface ApprovalAnswer {
  decision: string;
  digest: Hash;
  scope?: string;
  note?: string;
}
export interface ReviewRequest {
  path?: string;
  hunks?: string[];
  post?: Hash;
}
export interface SearchHit {
  session: SessionID;
  title: string;
  seq: number;
  at: Time;
  snippet: string;
}
export interface Frame {
  type: string;
  event?: Event;
  live?: Live;
  session?: SessionID;
  view?: SessionView;
  cursor?: number;
}
export interface Live {
  session: SessionID;
  id: string;
  offset: number;
  text?: string;
  thinking?: string;
  status?: string;
}
