import type { Attachment } from 'svelte/attachments';

let shown: HTMLElement | null = null;
let timer: ReturnType<typeof setTimeout> | undefined;

function hide(): void {
  clearTimeout(timer);
  shown?.remove();
  shown = null;
}

function show(anchor: HTMLElement, text: string): void {
  hide();
  const tip = document.createElement('div');
  tip.className = 'tip';
  tip.setAttribute('aria-hidden', 'true'); // the anchor's own name says it
  tip.textContent = text;
  tip.popover = 'manual';
  (anchor.closest('dialog') ?? document.body).append(tip);
  tip.showPopover();
  shown = tip;
  const a = anchor.getBoundingClientRect();
  const t = tip.getBoundingClientRect();
  const below = a.bottom + 6 + t.height < innerHeight;
  tip.style.left = `${Math.max(6, Math.min(innerWidth - t.width - 6, a.left + a.width / 2 - t.width / 2))}px`;
  tip.style.top = `${below ? a.bottom + 6 : a.top - t.height - 6}px`;
}

/** Shows `text` beside the element on hover and keyboard focus. Give the element an accessible name as well. */
export function tip(text: string | undefined): Attachment<HTMLElement> {
  return (node) => {
    if (!text) return;
    const later = () => {
      clearTimeout(timer);
      timer = setTimeout(() => show(node, text), 450);
    };
    const onFocus = () => {
      if (node.matches(':focus-visible')) later();
    };
    node.addEventListener('pointerenter', later);
    node.addEventListener('pointerleave', hide);
    node.addEventListener('pointerdown', hide);
    node.addEventListener('focus', onFocus);
    node.addEventListener('blur', hide);
    node.addEventListener('keydown', hide);
    return () => {
      node.removeEventListener('pointerenter', later);
      node.removeEventListener('pointerleave', hide);
      node.removeEventListener('pointerdown', hide);
      node.removeEventListener('focus', onFocus);
      node.removeEventListener('blur', hide);
      node.removeEventListener('keydown', hide);
      hide();
    };
  };
}
