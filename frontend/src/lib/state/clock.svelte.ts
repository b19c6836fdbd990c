/** The time as the screen shows it: one timer for the whole page. */
export class Clock {
  now = $state(Date.now());
  private timer: ReturnType<typeof setInterval> | undefined;

  /** Ticks every second until the returned function is called. */
  start(): () => void {
    this.timer = setInterval(() => (this.now = Date.now()), 1_000);
    return () => clearInterval(this.timer);
  }
}
