/** Values shown in the document; one story, so that the examples of different operations fit together. */
export const EXAMPLES = {
  timestamp: '2026-11-20T14:05:09.123Z',
  request_uuid: '0190b7a1-5d4e-7c3a-9f10-2b6f8e4c1d22',
  next_token: 'eyJhZnRlciI6WzQyXX0kXb1c9mQm1uVd2o3ZQwqzg',
} as const;
