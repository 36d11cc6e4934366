#include "text/template_check.h"

#include <fmt/core.h>

#include "base/json.h"
#include "base/mapped_file.h"
#include "base/sha256.h"

namespace lirio {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kQwen36Hash = "e84f32a23fdda27689f868aa4a1a5621f41133e51a48d7f3efcbea2839574259";
constexpr std::string_view kQwen35Hash = "a4aee8afcf2e0711942cf848899be66016f8d14a889ff9ede07bca099c28f715";

std::string_view without_final_newline(std::string_view text) {
  if (text.ends_with('\n')) text.remove_suffix(1);
  return text;
}

/// The template in the field `chat_template`: a string, or the one named "default" of a list.
std::optional<std::string> read_field(const fs::path& path) {
  const auto document = json::Document::from_file(path);
  const std::optional<json::Element> field = json::find(document.root_object(), "chat_template");
  if (!field) return std::nullopt;
  std::string_view text;
  if (field->get(text) == simdjson::SUCCESS) return std::string(text);
  json::Array list;
  if (field->get(list) != simdjson::SUCCESS) return std::nullopt;
  for (const json::Element element : list) {
    json::Object named;
    if (element.get(named) != simdjson::SUCCESS) continue;
    if (json::get_string(named, "name", document.source()) != "default") continue;
    if (const auto found = json::get_string(named, "template", document.source())) return std::string(*found);
  }
  return std::nullopt;
}

struct FoundTemplate {
  fs::path file;
  std::string text;
};

std::optional<FoundTemplate> find_template(const fs::path& directory) {
  const fs::path own_file = directory / "chat_template.jinja";
  if (fs::exists(own_file)) {
    const MappedFile file(own_file);
    return FoundTemplate{
        own_file, std::string(reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size())};
  }
  for (const char* name : {"tokenizer_config.json", "chat_template.json"}) {
    const fs::path path = directory / name;
    if (!fs::exists(path)) continue;
    if (std::optional<std::string> text = read_field(path)) return FoundTemplate{path, std::move(*text)};
  }
  return std::nullopt;
}

}  // namespace

std::optional<KnownTemplate> identify_template(std::string_view text) {
  const std::string hash = sha256_hex(without_final_newline(text));
  if (hash == kQwen36Hash) return KnownTemplate::kQwen36;
  if (hash == kQwen35Hash) return KnownTemplate::kQwen35;
  return std::nullopt;
}

std::optional<std::string> template_warning(const fs::path& directory) {
  const std::optional<FoundTemplate> found = find_template(directory);
  if (!found || identify_template(found->text)) return std::nullopt;
  return fmt::format(
      "{}: this chat template (SHA-256 {}) is neither Qwen3.6's nor Qwen3.5's; prompts are rendered as "
      "Qwen3.6's would, "
      "which this checkpoint may not expect",
      found->file.string(), sha256_hex(found->text));
}

}  // namespace lirio
