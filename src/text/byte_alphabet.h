// The byte-level alphabet of tokenizer.json: each byte is written as one printable character. Printable
// Latin-1 bytes stand for themselves, the other 68, in ascending order, are U+0100 to U+0143. Called by the
// tokenizer's loader. Thread-safe.
#pragma once

#include <string>
#include <string_view>

namespace lirio {

/// Appends the bytes that `letters` spells to `out`; false, with `out` in any state, when a character is not
/// of the alphabet.
bool append_bytes_of_letters(std::string_view letters, std::string& out);

}  // namespace lirio
