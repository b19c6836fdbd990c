// Package app is the window: the face of Worksite that a desktop shows. Start
// with [Claim], which makes sure that one window works on one data folder, and
// then [Run].
//
// The page and the API reach the window through the asset server of Wails on
// the page's own origin, so that no port is opened. The bound [Native] carries
// only what a browser cannot: native dialogs, paths of dropped and opened files,
// notifications, opening things outside. No use case lives here.
//
// It imports domain, filelock and Wails. Wails is imported by this package and main only.
// Everything but the last step, the window itself, compiles without the build
// tags of Wails; without them [Available] says how to build.
package app
