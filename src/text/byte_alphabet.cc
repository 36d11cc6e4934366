#include "text/byte_alphabet.h"

#include <array>
#include <cstdint>

#include "base/utf8.h"

namespace lirio {
namespace {

constexpr int kLetterEnd = 0x144;

/// The byte of each letter, -1 where there is none.
constexpr std::array<int16_t, kLetterEnd> make_bytes() {
  std::array<int16_t, kLetterEnd> bytes{};
  for (int16_t& byte : bytes)
    byte = -1;
  int next_letter = 0x100;
  for (int byte = 0; byte < 256; ++byte) {
    const bool printable = (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
    const int letter = printable ? byte : next_letter++;
    bytes[static_cast<std::size_t>(letter)] = static_cast<int16_t>(byte);
  }
  return bytes;
}

constexpr std::array<int16_t, kLetterEnd> kBytes = make_bytes();

}  // namespace

bool append_bytes_of_letters(std::string_view letters, std::string& out) {
  while (!letters.empty()) {
    const Utf8Unit unit = decode_utf8(letters);
    if (unit.code_point >= kLetterEnd || kBytes[unit.code_point] < 0) return false;
    out.push_back(static_cast<char>(kBytes[unit.code_point]));
    letters.remove_prefix(unit.length);
  }
  return true;
}

}  // namespace lirio
