import std/os

proc validLength(octets: string, at: int): int =
  ## The length of the character at an offset; 0 if it is not valid UTF-8.
  let first = ord(octets[at])
  if first < 0x80: return 1
  let length =
    case first
    of 0xC2 .. 0xDF: 2
    of 0xE0 .. 0xEF: 3
    of 0xF0 .. 0xF4: 4
    else: 0
  if length == 0 or at + length > octets.len: return 0
  for offset in 1 ..< length:
    if ord(octets[at + offset]) notin 0x80 .. 0xBF: return 0
  let second = ord(octets[at + 1])
  case first
  of 0xE0: (if second < 0xA0: return 0)
  of 0xED: (if second > 0x9F: return 0)
  of 0xF0: (if second < 0x90: return 0)
  of 0xF4: (if second > 0x8F: return 0)
  else: discard
  length

proc replaceInvalid(octets: string): string =
  var at, valid = 0
  while at < octets.len:
    let length = validLength(octets, at)
    if length == 0:
      result.add octets[valid ..< at]
      result.add "\uFFFD"
      valid = at + 1
    at += max(length, 1)
  if valid == 0: octets else: result & octets[valid .. ^1]

let FILE_CONTENT_PATH* = getEnv("FILE_CONTENT_PATH")
let FILE_CONTENT* = replaceInvalid(readFile(FILE_CONTENT_PATH))
