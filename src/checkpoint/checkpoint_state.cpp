#include "trireme/checkpoint/checkpoint_state.hpp"

#include <array>
#include <nlohmann/json.hpp>
#include <set>

#include "checkpoint/schema.hpp"
#include "trireme/archive/float_types.hpp"
#include "trireme/base/error.hpp"
#include "trireme/base/json_text.hpp"

namespace trireme::checkpoint {
namespace {

using namespace checkpoint_schema;
using Json = nlohmann::ordered_json;

Json make_tensor_json(const CheckpointTensor& tensor) {
    Json json{{"name", tensor.name},
              {"shape", tensor.shape},
              {"rows", tensor.rows},
              {"columns", tensor.columns},
              {"type", to_string(tensor.type)},
              {"source", to_string(tensor.original_type)}};
    if (!tensor.has_moments) json["moments"] = 0;
    return json;
}

// Encodes each box as five numbers: index of the tensor, first row, rows, first column, columns.
Json make_part_json(const CheckpointPart& part) {
    Json boxes = Json::array();
    for (const auto& [tensor, box] : part.boxes) {
        boxes.push_back({tensor, box.rows.begin, box.rows.count, box.columns.begin, box.columns.count});
    }
    return {{"part", part.rank}, {"boxes", std::move(boxes)}};
}

archive::StoredType parse_weight_type(const Json& name) {
    const auto type = archive::parse_stored_type(name.get<std::string>());
    if (!type || !is_float_type(*type))
        throw ConfigError("gives a tensor a type other than F64, F32, F16 and BF16");
    return *type;
}

// Throws unless `number` is an unsigned integer. Without this check the JSON library would convert any number
// to the requested type: -1 and 1.5 would become counts, and 1e30 is undefined behaviour.
std::uint64_t parse_count(const Json& number) {
    if (!number.is_number_unsigned())
        throw ConfigError("has another value where a non-negative integer is required");
    return number.get<std::uint64_t>();
}

template <class Counts>
Counts parse_counts(const Json& numbers) {
    for (const Json& number : numbers) parse_count(number);
    return numbers.get<Counts>();
}

CheckpointTensor parse_tensor(const Json& json) {
    CheckpointTensor tensor{.name = json.at("name"),
                            .shape = parse_counts<std::vector<std::uint64_t>>(json.at("shape")),
                            .rows = parse_count(json.at("rows")),
                            .columns = parse_count(json.at("columns")),
                            .type = parse_weight_type(json.at("type")),
                            .original_type = parse_weight_type(json.at("source")),
                            .has_moments = !json.contains("moments") || parse_count(json.at("moments")) > 0};
    // Size of the tensor in f64, the largest type. If this size does not overflow, no size in another type
    // does.
    std::uint64_t bytes = sizeof(double);
    for (const std::uint64_t extent : tensor.shape)
        if (__builtin_mul_overflow(bytes, extent, &bytes))
            throw ConfigError(cat("describes ", tensor.name, " with more bytes than 64 bits can count"));
    std::size_t size = 0;
    const bool matches_shape =
        !__builtin_mul_overflow(tensor.rows, tensor.columns, &size) && size == bytes / sizeof(double);
    const bool is_checkpoint_type =
        tensor.type == archive::StoredType::f32 || tensor.type == archive::StoredType::f64;
    if (!matches_shape || !is_checkpoint_type)
        throw ConfigError(
            cat("describes ", tensor.name, " with a shape, rows, columns or type that do not match"));
    return tensor;
}

bool is_within(layout::Range range, std::size_t size) {
    return range.begin <= size && range.count <= size - range.begin;
}

CheckpointPart parse_part(const Json& json, const std::vector<CheckpointTensor>& tensors) {
    CheckpointPart part{.rank = parse_count(json.at("part"))};
    for (const Json& each : json.at("boxes")) {
        const auto numbers = parse_counts<std::array<std::size_t, 5>>(each);
        const layout::TensorBox tensor_box{numbers[0], {{numbers[1], numbers[2]}, {numbers[3], numbers[4]}}};
        if (tensor_box.tensor >= tensors.size() ||
            !is_within(tensor_box.box.rows, tensors[tensor_box.tensor].rows) ||
            !is_within(tensor_box.box.columns, tensors[tensor_box.tensor].columns))
            throw ConfigError(cat("lists a box of part ", part.rank, " that no tensor contains"));
        part.boxes.push_back(tensor_box);
    }
    return part;
}

// Throws ConfigError unless the boxes of each tensor in all parts together have the same number of elements as
// the tensor.
void require_all_elements(const CheckpointState& state) {
    std::vector<std::size_t> element_counts(state.tensors.size());
    for (const CheckpointPart& part : state.parts)
        for (const layout::TensorBox& tensor_box : part.boxes)
            element_counts[tensor_box.tensor] += tensor_box.box.size();
    for (std::size_t t = 0; t < element_counts.size(); ++t) {
        const CheckpointTensor& tensor = state.tensors[t];
        if (element_counts[t] == tensor.rows * tensor.columns) continue;
        throw ConfigError(cat("lists parts with ", element_counts[t], " elements of ", tensor.name,
                              ", which has ", tensor.rows * tensor.columns));
    }
}

CheckpointState parse_state(const Json& json) {
    if (json.at("format").get<std::string>() != format) throw ConfigError("is not the state of a checkpoint");
    const std::uint64_t file_version = parse_count(json.at("schema_version"));
    if (file_version > version)
        throw ConfigError(cat("was written by a newer Trireme (checkpoint schema ", file_version,
                              "; this program reads up to ", version, ")"));
    CheckpointState state{.save_id = json.at("save"),
                          .step = parse_count(json.at("step")),
                          .moments = parse_count(json.at("moments"))};
    if (state.moments > max_moments)
        throw ConfigError(cat("lists ", state.moments,
                              " moments per parameter, but no optimizer has more than ", max_moments));
    for (const Json& tensor : json.at("tensors")) state.tensors.push_back(parse_tensor(tensor));
    for (const Json& part : json.at("parts")) state.parts.push_back(parse_part(part, state.tensors));
    state.config_sha256 = json.at("config_sha256");
    state.tokenizer_sha256 = json.value("tokenizer_sha256", "");
    state.generation_sha256 = json.value("generation_config_sha256", "");
    if (json.contains("run")) state.run = json.at("run").dump();
    require_all_elements(state);
    return state;
}

}  // namespace

const char* to_string(StateField field) {
    switch (field) {
        case StateField::value:
            return "parameters";
        case StateField::moment1:
            return "moment1";
        case StateField::moment2:
            return "moment2";
    }
    throw BugError("unknown StateField");
}

CheckpointTensor make_checkpoint_tensor(const model::ParameterSpec& whole, archive::StoredType type,
                                        archive::StoredType original_type) {
    return {.name = whole.name,
            .shape = {whole.shape.begin(), whole.shape.end()},
            .rows = whole.all_rows,
            .columns = whole.all_columns,
            .type = type,
            .original_type = original_type};
}

std::vector<std::size_t> list_tensors_with_moments(const CheckpointState& state, const CheckpointPart& part) {
    std::set<std::size_t> tensors;
    if (state.moments == 0) return {};
    for (const auto& [tensor, box] : part.boxes)
        if (state.tensors[tensor].has_moments) tensors.insert(tensor);
    return {tensors.begin(), tensors.end()};
}

std::string to_json(const CheckpointState& state) {
    Json json{{"format", format},   {"schema_version", version}, {"save", state.save_id},
              {"step", state.step}, {"moments", state.moments},  {"config_sha256", state.config_sha256}};
    if (!state.tokenizer_sha256.empty()) json["tokenizer_sha256"] = state.tokenizer_sha256;
    if (!state.generation_sha256.empty()) json["generation_config_sha256"] = state.generation_sha256;
    if (!state.run.empty()) json["run"] = Json::parse(state.run);
    json["tensors"] = Json::array();
    for (const CheckpointTensor& tensor : state.tensors) json["tensors"].push_back(make_tensor_json(tensor));
    json["parts"] = Json::array();
    for (const CheckpointPart& part : state.parts) json["parts"].push_back(make_part_json(part));
    return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

CheckpointState parse_checkpoint_state(std::string_view text, const std::string& source) {
    const auto refuse = [&](const std::string& fault) {
        throw ConfigError(cat(source, ' ', fault, "; ", repair_hint));
    };
    const Json json = parse_json<Json>(text, source);
    try {
        return parse_state(json);
    } catch (const ConfigError& error) {
        refuse(error.what());
    } catch (const Json::exception&) {
        refuse("is damaged: a field is missing or has the wrong type");
    }
    throw BugError("the error of parse_checkpoint_state() was not thrown");
}

}  // namespace trireme::checkpoint
