import { expect, it } from 'vitest';
import { formatPlace, parsePlace, type Place } from './place';

it.each<Place>([
  { at: 'home' },
  { at: 'session', id: 'ses_1', review: false },
  { at: 'session', id: 'ses_1', review: true },
  { at: 'recovery', id: 'ses_1' },
  { at: 'new', workspace: 'wsp_1' },
  { at: 'inbox' },
  { at: 'artifacts' },
  { at: 'settings' },
  { at: 'doctor' },
])('keeps $at in the address', (place) => expect(parsePlace(formatPlace(place))).toEqual(place));

it.each(['', '#', '#/', '#/nowhere', '#/session/', '#token=abc'])('goes home from %j', (hash) =>
  expect(parsePlace(hash)).toEqual({ at: 'home' }),
);
