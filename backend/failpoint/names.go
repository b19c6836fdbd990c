package failpoint

// Name is a place in the product at which a process may be killed.
type Name string

// The places, by who is about to write or has written.
const (
	LedgerBeforeCommit Name = "ledger.before-commit" // events are in the transaction
	LedgerAfterCommit  Name = "ledger.after-commit"  // durable, nobody was told
	HeadBeforePublish  Name = "head.before-publish"  // signed, not outside the file yet
	HeadAfterPublish   Name = "head.after-publish"

	LeaseBeforeAcquire Name = "lease.before-acquire"
	LeaseAfterAcquire  Name = "lease.after-acquire"
	LeaseBeforeRenew   Name = "lease.before-renew"
	LeaseAfterRenew    Name = "lease.after-renew"
	LeaseBeforeRelease Name = "lease.before-release"
	LeaseAfterRelease  Name = "lease.after-release"

	HandBeforeEffect Name = "hand.before-effect" // executing is durable, nothing was done
	HandAfterEffect  Name = "hand.after-effect"  // done, its result is not recorded

	SandboxBeforeStart Name = "sandbox.before-start"
	SandboxAfterEnd    Name = "sandbox.after-end"

	BaseBeforeRecord Name = "workspace.before-base"   // the snapshot is kept, no row names it
	BaseAfterRecord  Name = "workspace.after-base"    // the row is there, the ledger does not know
	PreimageKept     Name = "workspace.preimage-kept" // the file is as it was
	FileBeforeRename Name = "workspace.before-rename" // the new version lies beside the old one
	FileAfterRename  Name = "workspace.after-rename"
	FileBeforeRemove Name = "workspace.before-remove" // moved aside, not gone
	FileAfterRemove  Name = "workspace.after-remove"
	ImagesRecorded   Name = "workspace.images-recorded"

	BlobBeforeRename Name = "blob.before-rename"
	BlobAfterRename  Name = "blob.after-rename"

	ArtifactBeforeRecord Name = "artifact.before-record" // its bytes are kept, no row names them
	ArtifactAfterRecord  Name = "artifact.after-record"

	ReviewRecorded  Name = "review.recorded"   // the answer is in the ledger, the file is as it was
	ReviewPut       Name = "review.put"        // the file is as decided, the workspace does not know
	ReviewApplied   Name = "review.applied"    // of all files
	RestoreRecorded Name = "restore.recorded"  // likewise for all files of a restore
	RestoreApplied  Name = "restore.file-done" // of one of several files
)

// Names lists all places.
var Names = []Name{
	LedgerBeforeCommit, LedgerAfterCommit, HeadBeforePublish, HeadAfterPublish,
	LeaseBeforeAcquire, LeaseAfterAcquire, LeaseBeforeRenew, LeaseAfterRenew, LeaseBeforeRelease, LeaseAfterRelease,
	HandBeforeEffect, HandAfterEffect, SandboxBeforeStart, SandboxAfterEnd,
	BaseBeforeRecord, BaseAfterRecord, PreimageKept, FileBeforeRename, FileAfterRename, FileBeforeRemove, FileAfterRemove, ImagesRecorded,
	BlobBeforeRename, BlobAfterRename, ArtifactBeforeRecord, ArtifactAfterRecord,
	ReviewRecorded, ReviewPut, ReviewApplied, RestoreRecorded, RestoreApplied,
}
