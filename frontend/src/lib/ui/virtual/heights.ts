/** Where the rows of a long list stand: measured where they were seen, estimated elsewhere. */
export class Heights {
  private keys: readonly string[] = [];
  private readonly measured = new Map<string, number>();
  private index = new Map<string, number>();
  private sizes = new Float64Array(0);
  private offsets = new Float64Array(1);
  /** Offsets up to and including this row are right. */
  private clean = 0;

  get count(): number {
    return this.keys.length;
  }

  /** Takes a new list of rows; heights measured before are kept by key. */
  set(keys: readonly string[], estimate: (index: number) => number): void {
    this.keys = keys;
    this.index = new Map();
    this.sizes = new Float64Array(keys.length);
    this.offsets = new Float64Array(keys.length + 1);
    for (let i = 0; i < keys.length; i++) {
      const key = keys[i] as string;
      this.index.set(key, i);
      this.sizes[i] = this.measured.get(key) ?? estimate(i);
    }
    this.clean = 0;
  }

  /** Records a measured height; true when it differs from what was assumed. */
  measure(key: string, height: number): boolean {
    this.measured.set(key, height);
    const i = this.index.get(key);
    if (i === undefined || this.sizes[i] === height) return false;
    this.sizes[i] = height;
    this.clean = Math.min(this.clean, i);
    return true;
  }

  indexOf(key: string): number {
    return this.index.get(key) ?? -1;
  }

  offset(i: number): number {
    for (; this.clean < i; this.clean++) {
      this.offsets[this.clean + 1] = (this.offsets[this.clean] ?? 0) + (this.sizes[this.clean] ?? 0);
    }
    return this.offsets[i] ?? 0;
  }

  get total(): number {
    return this.offset(this.keys.length);
  }

  /** The row at height `y`. */
  at(y: number): number {
    const total = this.total;
    if (y >= total) return Math.max(0, this.keys.length - 1);
    let low = 0;
    let high = this.keys.length;
    while (low < high - 1) {
      const mid = (low + high) >> 1;
      if ((this.offsets[mid] ?? 0) <= y) low = mid;
      else high = mid;
    }
    return low;
  }
}
