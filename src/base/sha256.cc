#include "base/sha256.h"

#include <openssl/evp.h>

#include <array>
#include <span>

#include "base/error.h"

namespace lirio {

std::string sha256_hex(std::string_view bytes) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int length = 0;
  if (EVP_Digest(bytes.data(), bytes.size(), digest.data(), &length, EVP_sha256(), nullptr) != 1) {
    throw Error("libcrypto can't compute SHA-256", "Check this system's OpenSSL configuration.");
  }
  std::string hex;
  for (const unsigned char byte : std::span(digest).first(length))
    hex += fmt::format("{:02x}", byte);
  return hex;
}

}  // namespace lirio
