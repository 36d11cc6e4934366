#include "text/tool_schema.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "base/error.h"
#include "text/loose_json.h"
#include "text/text_gate.h"

namespace lirio {
namespace {

using Kind = ArgumentType::Kind;

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

std::string_view trim(std::string_view text) {
  const std::size_t first = text.find_first_not_of(kLayoutSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kLayoutSpace) - first + 1);
}

void add_kind(ArgumentType& type, Kind kind) {
  if (std::find(type.kinds.begin(), type.kinds.end(), kind) == type.kinds.end()) type.kinds.push_back(kind);
}

void add_named_kind(ArgumentType& type, std::string_view type_name) {
  const std::string name = lower(trim(type_name));
  const auto is_one_of = [&](std::initializer_list<std::string_view> names) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  const auto begins_with_one_of = [&](std::initializer_list<std::string_view> heads) {
    return std::any_of(heads.begin(), heads.end(),
                       [&](std::string_view head) { return name.starts_with(head); });
  };
  if (is_one_of({"null", "none"})) {
    type.nullable = true;
  } else if (is_one_of({"string", "str", "text", "varchar", "char", "enum"})) {
    add_kind(type, Kind::kText);
  } else if (begins_with_one_of({"int", "uint", "long", "short", "unsigned"})) {
    add_kind(type, Kind::kInteger);
  } else if (begins_with_one_of({"num", "float", "double", "decimal"})) {
    add_kind(type, Kind::kNumber);
  } else if (is_one_of({"boolean", "bool", "binary"})) {
    add_kind(type, Kind::kBoolean);
  } else if (begins_with_one_of({"arr", "list"})) {
    add_kind(type, Kind::kArray);
  } else if (name == "object" || begins_with_one_of({"dict", "map"})) {
    add_kind(type, Kind::kObject);
  } else {
    add_kind(type, Kind::kOther);
  }
}

void merge(const ArgumentType& from, ArgumentType& into) {
  for (const Kind kind : from.kinds)
    add_kind(into, kind);
  into.nullable |= from.nullable;
}

/// Reads types and properties from a tool's schema, following references within it. The work is bounded,
/// whatever the schema refers to: what lies beyond is passed over.
class SchemaReader {
 public:
  explicit SchemaReader(json::Element root) : root_(root) {}

  /// The types that `schema` admits.
  ArgumentType type_of(json::Element schema) {
    constexpr int kVisitsPerParameter = 500;
    visits_left_ = std::min(kVisitsPerParameter, all_visits_left_);
    all_visits_left_ -= visits_left_;
    ArgumentType type = read_type(schema, 0);
    all_visits_left_ += std::max(visits_left_, 0);
    return type;
  }

  /// Calls `visit` with each object that may hold properties: the schema, what it refers to, its
  /// alternatives.
  template <typename Visit>
  void for_each_object(json::Element schema, const Visit& visit) {
    int visits_left = 100;
    for_each_object(schema, visit, 0, visits_left);
  }

 private:
  static constexpr int kMaxDepth = 32;

  template <typename Visit>
  void for_each_object(json::Element schema, const Visit& visit, int depth, int& visits_left) {
    json::Object object;
    if (depth > kMaxDepth || --visits_left < 0 || schema.get(object) != simdjson::SUCCESS) return;
    visit(object);
    for_each_part(object, [&](json::Element part) { for_each_object(part, visit, depth + 1, visits_left); });
  }

  ArgumentType read_type(json::Element schema, int depth) {
    ArgumentType type;
    json::Object object;
    if (depth > kMaxDepth || --visits_left_ < 0 || schema.get(object) != simdjson::SUCCESS) return type;
    bool nullable = false;
    if (object.at_key("nullable").get(nullable) == simdjson::SUCCESS) type.nullable = nullable;
    if (add_declared(object, type)) return type;
    for_each_part(object, [&](json::Element part) { merge(read_type(part, depth + 1), type); });
    if (type.kinds.empty()) add_values(object, type);
    if (type.kinds.empty()) add_implied(object, type);
    return type;
  }

  template <typename Visit>
  void for_each_part(json::Object object, const Visit& visit) {
    std::string_view reference;
    json::Element target;
    if (object.at_key("$ref").get(reference) == simdjson::SUCCESS && reference.starts_with('#') &&
        root_.at_pointer(reference.substr(1)).get(target) == simdjson::SUCCESS) {
      visit(target);
    }
    for (const char* key : {"anyOf", "oneOf", "allOf"}) {
      json::Array parts;
      if (object.at_key(key).get(parts) != simdjson::SUCCESS) continue;
      for (const json::Element part : parts)
        visit(part);
    }
  }

  /// By the keyword `type`; false when that names nothing.
  static bool add_declared(json::Object object, ArgumentType& type) {
    json::Element declared;
    if (object.at_key("type").get(declared) != simdjson::SUCCESS) return false;
    std::string_view name;
    json::Array names;
    if (declared.get(name) == simdjson::SUCCESS) {
      add_named_kind(type, name);
      return true;
    }
    if (declared.get(names) != simdjson::SUCCESS) return false;
    bool any = false;
    for (const json::Element element : names) {
      if (element.get(name) != simdjson::SUCCESS) continue;
      add_named_kind(type, name);
      any = true;
    }
    return any;
  }

  /// By the values of `enum` or `const`. Text comes last, since it fits whatever the others fit.
  static void add_values(json::Object object, ArgumentType& type) {
    bool text = false;
    const auto add_value = [&](json::Element value) {
      switch (value.type()) {
        case simdjson::dom::element_type::STRING:
          text = true;
          break;
        case simdjson::dom::element_type::NULL_VALUE:
          type.nullable = true;
          break;
        case simdjson::dom::element_type::BOOL:
          add_kind(type, Kind::kBoolean);
          break;
        case simdjson::dom::element_type::INT64:
        case simdjson::dom::element_type::UINT64:
          add_kind(type, Kind::kInteger);
          break;
        case simdjson::dom::element_type::DOUBLE:
          add_kind(type, Kind::kNumber);
          break;
        case simdjson::dom::element_type::ARRAY:
          add_kind(type, Kind::kArray);
          break;
        default:
          add_kind(type, Kind::kObject);
      }
    };
    json::Element value;
    json::Array values;
    if (object.at_key("const").get(value) == simdjson::SUCCESS) add_value(value);
    if (object.at_key("enum").get(values) == simdjson::SUCCESS) {
      for (const json::Element element : values)
        add_value(element);
    }
    if (text) add_kind(type, Kind::kText);
  }

  /// By keywords that make sense for one type only.
  static void add_implied(json::Object object, ArgumentType& type) {
    const auto has = [&](std::initializer_list<const char*> keys) {
      return std::any_of(keys.begin(), keys.end(),
                         [&](const char* key) { return !object.at_key(key).error(); });
    };
    if (has({"properties", "additionalProperties", "patternProperties"})) {
      add_kind(type, Kind::kObject);
    } else if (has({"items", "prefixItems"})) {
      add_kind(type, Kind::kArray);
    } else if (has({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"})) {
      add_kind(type, Kind::kNumber);
    }
  }

  json::Element root_;
  int all_visits_left_ = 10'000;
  int visits_left_ = 0;
};

/// An integer of any size; fractions of zero are dropped.
std::optional<std::string> to_json_integer(std::string_view text) {
  auto number = to_json_number(text);
  if (!number || number->find_first_of("eE") != std::string::npos) return std::nullopt;
  const std::size_t point = number->find('.');
  if (point == std::string::npos) return number;
  if (number->find_first_not_of('0', point + 1) != std::string::npos) return std::nullopt;
  number->resize(point);
  return number;
}

/// An array or object, also when it comes as a JSON string of one.
std::optional<std::string> to_json_container(std::string_view text, LooseValue::Kind kind) {
  auto value = read_loose_json(text);
  if (value && value->kind == LooseValue::Kind::kString) value = read_loose_json(value->text);
  if (!value || value->kind != kind) return std::nullopt;
  return std::move(value->json);
}

/// `text` has no spaces around it.
std::optional<std::string> to_json_as(Kind kind, std::string_view text) {
  switch (kind) {
    case Kind::kInteger:
      return to_json_integer(text);
    case Kind::kNumber:
      return to_json_number(text);
    case Kind::kBoolean: {
      const std::string word = lower(text.substr(0, 6));
      return word == "true" || word == "false" ? std::optional(word) : std::nullopt;
    }
    case Kind::kArray:
      return to_json_container(text, LooseValue::Kind::kArray);
    case Kind::kObject:
      return to_json_container(text, LooseValue::Kind::kObject);
    case Kind::kOther: {
      auto value = read_loose_json(text);
      return value ? std::optional(std::move(value->json)) : std::nullopt;
    }
    case Kind::kText:
      break;
  }
  return std::nullopt;
}

}  // namespace

bool spells_null(std::string_view raw) {
  if (raw.size() != 4) return false;
  const std::string word = lower(raw);
  return word == "null" || word == "none";
}

std::string to_json_argument(std::string_view raw, const ArgumentType& type) {
  std::string out;
  if (type.is_text()) {
    if (type.nullable && spells_null(raw)) return "null";
    json::append_string(out, raw);
    return out;
  }
  const std::string_view text = trim(raw);
  const bool admits_text = std::find(type.kinds.begin(), type.kinds.end(), Kind::kText) != type.kinds.end();
  if (spells_null(text) && (type.nullable || !admits_text)) return "null";
  for (const Kind kind : type.kinds) {
    if (kind == Kind::kText) break;
    if (auto json = to_json_as(kind, text)) return std::move(*json);
  }
  json::append_string(out, raw);
  return out;
}

ToolSchema::ToolSchema(std::string name, std::optional<json::Element> parameters) : name_(std::move(name)) {
  if (!parameters) return;
  const json::Element root = *parameters;
  SchemaReader reader(root);
  reader.for_each_object(root, [&](json::Object object) {
    json::Object properties;
    if (object.at_key("properties").get(properties) == simdjson::SUCCESS) {
      for (const auto& [key, schema] : properties) {
        if (!types_.contains(key)) types_.emplace(key, reader.type_of(schema));
      }
    }
    json::Element additional;
    if (object.at_key("additionalProperties").get(additional) == simdjson::SUCCESS &&
        other_keys_.kinds.empty()) {
      other_keys_ = reader.type_of(additional);
    }
    json::Array required;
    if (object.at_key("required").get(required) != simdjson::SUCCESS) return;
    for (const json::Element element : required) {
      std::string_view key;
      if (element.get(key) == simdjson::SUCCESS) required_.emplace_back(key);
    }
  });
}

const ArgumentType& ToolSchema::type_of(std::string_view key) const {
  const auto found = types_.find(key);
  return found == types_.end() ? other_keys_ : found->second;
}

void ToolSet::add(std::string name, std::optional<json::Element> parameters) {
  if (tools_.contains(name)) return;
  ToolSchema schema(name, parameters);
  tools_.emplace(std::move(name), std::move(schema));
}

void ToolSet::add_text(std::string name, std::string_view parameters) {
  try {
    const json::Document document(parameters, "parameters");
    add(std::move(name), document.root());
  } catch (const Error&) {
    add(std::move(name), std::nullopt);
  }
}

const ToolSchema* ToolSet::find(std::string_view name) const {
  const auto found = tools_.find(name);
  return found == tools_.end() ? nullptr : &found->second;
}

}  // namespace lirio
