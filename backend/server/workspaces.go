package server

import (
	"io"
	"mime"
	"net/http"
	"strconv"

	"worksite/backend/domain"
	"worksite/backend/service"
)

func (s *Server) changes(w http.ResponseWriter, r *http.Request) {
	v, err := s.svc.Changes(r.Context(), session(r))
	write(w, v, err)
}

func (s *Server) accept(w http.ResponseWriter, r *http.Request) {
	if req, ok := read[service.ReviewRequest](w, r); ok {
		v, err := s.svc.Accept(r.Context(), session(r), req)
		write(w, v, err)
	}
}

func (s *Server) reject(w http.ResponseWriter, r *http.Request) {
	if req, ok := read[service.ReviewRequest](w, r); ok {
		v, err := s.svc.Reject(r.Context(), session(r), req)
		write(w, v, err)
	}
}

func (s *Server) commit(w http.ResponseWriter, r *http.Request) {
	req, ok := read[service.CommitRequest](w, r)
	if ok {
		v, err := s.svc.Commit(r.Context(), session(r), req)
		write(w, v, err)
	}
}

func (s *Server) restore(w http.ResponseWriter, r *http.Request) {
	req, ok := read[service.RestoreRequest](w, r)
	if ok {
		v, err := s.svc.Restore(r.Context(), session(r), req)
		write(w, v, err)
	}
}

func workspace(r *http.Request) domain.WorkspaceID { return domain.WorkspaceID(r.PathValue("id")) }

func (s *Server) listWorkspaces(w http.ResponseWriter, r *http.Request) {
	v, err := s.svc.Workspaces(r.Context())
	write(w, v, err)
}

func (s *Server) addWorkspace(w http.ResponseWriter, r *http.Request) {
	req, ok := read[struct {
		Path   string `json:"path"`
		Sample bool   `json:"sample"`
	}](w, r)
	if !ok {
		return
	}
	if req.Sample {
		v, err := s.svc.AddSample(r.Context())
		write(w, v, err)
		return
	}
	v, err := s.svc.AddWorkspace(r.Context(), req.Path)
	write(w, v, err)
}

func (s *Server) newTask(w http.ResponseWriter, r *http.Request) {
	req, ok := read[struct {
		Name string `json:"name"`
	}](w, r)
	if ok {
		v, err := s.svc.NewTask(r.Context(), req.Name)
		write(w, v, err)
	}
}

func (s *Server) trust(w http.ResponseWriter, r *http.Request) {
	req, ok := read[struct {
		Trusted bool `json:"trusted"`
	}](w, r)
	if ok {
		v, err := s.svc.Trust(r.Context(), workspace(r), req.Trusted)
		write(w, v, err)
	}
}

func (s *Server) relink(w http.ResponseWriter, r *http.Request) {
	req, ok := read[struct {
		Path string `json:"path"`
	}](w, r)
	if ok {
		v, err := s.svc.Relink(r.Context(), workspace(r), req.Path)
		write(w, v, err)
	}
}

func (s *Server) forget(w http.ResponseWriter, r *http.Request) {
	write(w, nothing{}, s.svc.ForgetWorkspace(r.Context(), workspace(r)))
}

func (s *Server) listArtifacts(w http.ResponseWriter, r *http.Request) {
	v, err := s.svc.Artifacts(r.Context(), domain.SessionID(r.FormValue("session")))
	write(w, v, err)
}

func (s *Server) promote(w http.ResponseWriter, r *http.Request) {
	req, ok := read[struct {
		Path string `json:"path"`
	}](w, r)
	if ok {
		v, err := s.svc.Promote(r.Context(), session(r), req.Path)
		write(w, v, err)
	}
}

// revision reads the artifact that a path names.
func revision(r *http.Request) (domain.ArtifactID, int, error) {
	n, err := strconv.Atoi(r.PathValue("rev"))
	if err != nil {
		return "", 0, domain.Errorf(domain.CodeInvalid, "revision %q is not a number", r.PathValue("rev"))
	}
	return domain.ArtifactID(r.PathValue("id")), n, nil
}

func (s *Server) artifactContent(w http.ResponseWriter, r *http.Request) {
	id, rev, err := revision(r)
	if err != nil {
		fail(w, err)
		return
	}
	ref, content, err := s.svc.ArtifactContent(r.Context(), id, rev)
	if err != nil {
		fail(w, err)
		return
	}
	download(w, ref.Name, ref.MediaType, content)
}

func (s *Server) actOnArtifact(w http.ResponseWriter, r *http.Request) {
	id, rev, err := revision(r)
	if err != nil {
		fail(w, err)
		return
	}
	req, ok := read[struct {
		Path  string `json:"path"`
		Check string `json:"check"`
	}](w, r)
	if !ok {
		return
	}
	var v service.ArtifactView
	switch act := r.PathValue("act"); act {
	case "save":
		if !s.cfg.Window {
			err = domain.Errorf(domain.CodeForbidden, "a browser saves through its own download").WithHint("Use the download of the artifact.")
			break
		}
		v, err = s.svc.SaveArtifact(r.Context(), id, rev, req.Path)
	case "validate":
		v, err = s.svc.ValidateArtifact(r.Context(), id, rev, req.Check)
	case "adopt":
		v, err = s.svc.AdoptArtifact(r.Context(), id, rev)
	case "withdraw":
		v, err = s.svc.WithdrawArtifact(r.Context(), id, rev)
	default:
		err = domain.Errorf(domain.CodeNotFound, "artifacts cannot %q", act)
	}
	write(w, v, err)
}

func (s *Server) blob(w http.ResponseWriter, r *http.Request) {
	hash, err := domain.ParseHash(r.PathValue("hash"))
	if err != nil {
		fail(w, domain.Errorf(domain.CodeInvalid, "%q is not a hash", r.PathValue("hash")))
		return
	}
	content, err := s.svc.Blob(r.Context(), hash)
	if err != nil {
		fail(w, err)
		return
	}
	download(w, hash.String(), "application/octet-stream", content)
}

// download sends bytes of unknown origin: as a file, never as a page.
func download(w http.ResponseWriter, name, mediaType string, content io.ReadCloser) {
	defer content.Close()
	w.Header().Set("Content-Type", mediaType)
	w.Header().Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": name}))
	_, _ = io.Copy(w, content) // a reader that went away is no error of ours
}

func (s *Server) models(w http.ResponseWriter, r *http.Request) {
	v, err := s.svc.Models(r.Context())
	write(w, v, err)
}

func (s *Server) chooseModel(w http.ResponseWriter, r *http.Request) {
	if req, ok := read[domain.ModelRef](w, r); ok {
		v, err := s.svc.ChooseModel(r.Context(), req)
		write(w, v, err)
	}
}

func (s *Server) settings(w http.ResponseWriter, r *http.Request) { write(w, s.svc.Settings(), nil) }

func (s *Server) saveSettings(w http.ResponseWriter, r *http.Request) {
	if req, ok := read[service.Settings](w, r); ok {
		v, err := s.svc.SaveSettings(r.Context(), req)
		write(w, v, err)
	}
}

func (s *Server) doctor(w http.ResponseWriter, r *http.Request) {
	write(w, s.svc.Doctor(r.Context()), nil)
}
