// SHA-256 of bytes in memory, through OpenSSL's libcrypto, of which this is the only user. Called where a
// file has to be the one that is known (a checkpoint's chat template). Thread-safe.
#pragma once

#include <string>
#include <string_view>

namespace lirio {

/// 64 lower-case hexadecimal digits. Throws Error when libcrypto refuses (a system without SHA-256).
std::string sha256_hex(std::string_view bytes);

}  // namespace lirio
