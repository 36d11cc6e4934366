// Whether a checkpoint's own chat template is one that lirio's renderer follows. lirio doesn't run templates:
// it renders as the official ones of Qwen3.6 and Qwen3.5 do, and a checkpoint that was trained or patched for
// another would quietly get prompts it doesn't expect. Called when a model is loaded for chatting.
// Thread-safe.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace lirio {

enum class KnownTemplate { kQwen36, kQwen35 };

/// The template that `text` is, told by its SHA-256; a newline at its end doesn't count, as to Jinja it
/// doesn't.
std::optional<KnownTemplate> identify_template(std::string_view text);

/// One line that says that the template of the checkpoint in `directory` is not a known one, or nothing: it
/// is known, or there is none. Looked for as Transformers does: chat_template.jinja, then `chat_template` in
/// tokenizer_config.json or chat_template.json. Throws Error when one of these files can't be read.
std::optional<std::string> template_warning(const std::filesystem::path& directory);

}  // namespace lirio
