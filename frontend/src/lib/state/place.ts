/** Where the person is. Kept in the address, so that a reload comes back here. */
export type Place =
  | { at: 'home' }
  | { at: 'session'; id: string; review: boolean }
  | { at: 'recovery'; id: string }
  | { at: 'new'; workspace: string }
  | { at: 'inbox' }
  | { at: 'artifacts' }
  | { at: 'settings' }
  | { at: 'doctor' };

export function parsePlace(hash: string): Place {
  const [head = '', id = '', more = ''] = hash.replace(/^#\/?/, '').split('/').map(decodeURIComponent);
  switch (head) {
    case 'session':
      return id ? { at: 'session', id, review: more === 'review' } : { at: 'home' };
    case 'recovery':
      return id ? { at: 'recovery', id } : { at: 'home' };
    case 'new':
      return id ? { at: 'new', workspace: id } : { at: 'home' };
    case 'inbox':
    case 'artifacts':
    case 'settings':
    case 'doctor':
      return { at: head };
    default:
      return { at: 'home' };
  }
}

export function formatPlace(place: Place): string {
  switch (place.at) {
    case 'home':
      return '#/';
    case 'session':
      return `#/session/${encodeURIComponent(place.id)}${place.review ? '/review' : ''}`;
    case 'recovery':
      return `#/recovery/${encodeURIComponent(place.id)}`;
    case 'new':
      return `#/new/${encodeURIComponent(place.workspace)}`;
    default:
      return `#/${place.at}`;
  }
}
