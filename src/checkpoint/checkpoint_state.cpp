#include "trireme/checkpoint/checkpoint_state.hpp"

#include <array>
#include <nlohmann/json.hpp>

#include "checkpoint/schema.hpp"
#include "trireme/archive/float_types.hpp"
#include "trireme/base/error.hpp"
#include "trireme/base/json_text.hpp"

namespace trireme::checkpoint {
namespace {

using namespace checkpoint_schema;
using Json = nlohmann::ordered_json;

Json tensor_json(const CheckpointTensor& tensor) {
    return {{"name", tensor.name},       {"shape", tensor.shape},        {"rows", tensor.rows},
            {"columns", tensor.columns}, {"type", name_of(tensor.type)}, {"source", name_of(tensor.source)}};
}

// Encodes each box as tensor number, first row, rows, first column, columns.
Json part_json(const CheckpointPart& part) {
    Json boxes = Json::array();
    for (const auto& [tensor, box] : part.boxes) {
        boxes.push_back({tensor, box.rows.begin, box.rows.count, box.columns.begin, box.columns.count});
    }
    return {{"part", part.number}, {"boxes", std::move(boxes)}};
}

archive::StoredType type_named(const Json& name) {
    const auto type = archive::stored_type_named(name.get<std::string>());
    if (!type || !is_float(*type)) throw ConfigError("names a type that holds no weights");
    return *type;
}

// Throws unless `number` is an unsigned integer. The JSON library converts any number to the requested type: -1
// and 1.5 become counts, and 1e30 is undefined behaviour.
std::uint64_t count_of(const Json& number) {
    if (!number.is_number_unsigned()) throw ConfigError("has something else where a whole number must be");
    return number.get<std::uint64_t>();
}

template <class Counts>
Counts counts_of(const Json& numbers) {
    for (const Json& number : numbers) count_of(number);
    return numbers.get<Counts>();
}

CheckpointTensor tensor_of(const Json& json) {
    CheckpointTensor tensor{.name = json.at("name"),
                            .shape = counts_of<std::vector<std::uint64_t>>(json.at("shape")),
                            .rows = count_of(json.at("rows")),
                            .columns = count_of(json.at("columns")),
                            .type = type_named(json.at("type")),
                            .source = type_named(json.at("source"))};
    std::uint64_t bytes = sizeof(double);
    for (const std::uint64_t extent : tensor.shape)
        if (__builtin_mul_overflow(bytes, extent, &bytes)) throw ConfigError("holds more than can be counted");
    std::size_t size = 0;
    const bool fits =
        !__builtin_mul_overflow(tensor.rows, tensor.columns, &size) && size == bytes / sizeof(double);
    const bool is_stored = tensor.type == archive::StoredType::f32 || tensor.type == archive::StoredType::f64;
    if (!fits || !is_stored) throw ConfigError(cat("contradicts itself about ", tensor.name));
    return tensor;
}

bool is_within(layout::Range range, std::size_t size) {
    return range.begin <= size && range.count <= size - range.begin;
}

CheckpointPart part_of(const Json& json, const std::vector<CheckpointTensor>& tensors) {
    CheckpointPart part{.number = count_of(json.at("part"))};
    for (const Json& each : json.at("boxes")) {
        const auto numbers = counts_of<std::array<std::size_t, 5>>(each);
        const layout::TensorBox held{numbers[0], {{numbers[1], numbers[2]}, {numbers[3], numbers[4]}}};
        if (held.tensor >= tensors.size() || !is_within(held.box.rows, tensors[held.tensor].rows) ||
            !is_within(held.box.columns, tensors[held.tensor].columns))
            throw ConfigError(cat("puts what no tensor has into part ", part.number));
        part.boxes.push_back(held);
    }
    return part;
}

void require_all_elements(const CheckpointState& state) {
    std::vector<std::size_t> found(state.tensors.size());
    for (const CheckpointPart& part : state.parts)
        for (const layout::TensorBox& held : part.boxes) found[held.tensor] += held.box.size();
    for (std::size_t t = 0; t < found.size(); ++t) {
        const CheckpointTensor& tensor = state.tensors[t];
        if (found[t] == tensor.rows * tensor.columns) continue;
        throw ConfigError(cat("has ", found[t], " of the ", tensor.rows * tensor.columns, " elements of ",
                              tensor.name, " in its parts"));
    }
}

CheckpointState state_of(const Json& json) {
    if (json.at("format").get<std::string>() != format) throw ConfigError("is of no checkpoint");
    const std::uint64_t written = count_of(json.at("schema_version"));
    if (written > version)
        throw ConfigError(cat("was written by a newer Trireme (checkpoint schema ", written,
                              ", this program reads ", version, ")"));
    CheckpointState state{
        .save = json.at("save"), .step = count_of(json.at("step")), .moments = count_of(json.at("moments"))};
    if (state.moments > most_moments) throw ConfigError("has more moments than any optimizer");
    for (const Json& tensor : json.at("tensors")) state.tensors.push_back(tensor_of(tensor));
    for (const Json& part : json.at("parts")) state.parts.push_back(part_of(part, state.tensors));
    state.config_sha256 = json.at("config_sha256");
    state.tokenizer_sha256 = json.value("tokenizer_sha256", "");
    state.generation_sha256 = json.value("generation_config_sha256", "");
    if (json.contains("run")) state.run = json.at("run").dump();
    require_all_elements(state);
    return state;
}

}  // namespace

const char* name_of(StateField field) {
    switch (field) {
        case StateField::value:
            return "parameters";
        case StateField::moment1:
            return "moment1";
        case StateField::moment2:
            return "moment2";
    }
    throw BugError("unknown field of a state");
}

CheckpointTensor checkpoint_tensor(const model::ParameterSpec& whole, archive::StoredType type,
                                   archive::StoredType source) {
    return {.name = whole.name,
            .shape = {whole.shape.begin(), whole.shape.end()},
            .rows = whole.all_rows,
            .columns = whole.all_columns,
            .type = type,
            .source = source};
}

std::string json_of(const CheckpointState& state) {
    Json json{{"format", format},   {"schema_version", version}, {"save", state.save},
              {"step", state.step}, {"moments", state.moments},  {"config_sha256", state.config_sha256}};
    if (!state.tokenizer_sha256.empty()) json["tokenizer_sha256"] = state.tokenizer_sha256;
    if (!state.generation_sha256.empty()) json["generation_config_sha256"] = state.generation_sha256;
    if (!state.run.empty()) json["run"] = Json::parse(state.run);
    json["tensors"] = Json::array();
    for (const CheckpointTensor& tensor : state.tensors) json["tensors"].push_back(tensor_json(tensor));
    json["parts"] = Json::array();
    for (const CheckpointPart& part : state.parts) json["parts"].push_back(part_json(part));
    return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

CheckpointState state_from_json(std::string_view text, const std::string& place) {
    const auto refuse = [&](const std::string& fault) {
        throw ConfigError(cat(place, ' ', fault, "; ", copy_again));
    };
    const Json json = parse_json<Json>(text, place);
    try {
        return state_of(json);
    } catch (const ConfigError& error) {
        refuse(error.what());
    } catch (const Json::exception&) {
        refuse("is damaged: it is not what a checkpoint's state is");
    }
    throw BugError("a refusal came back");
}

}  // namespace trireme::checkpoint
