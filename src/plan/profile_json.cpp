#include <array>

#include "plan/json_node.hpp"
#include "trireme/base/error.hpp"
#include "trireme/base/json_text.hpp"
#include "trireme/plan/profile.hpp"

namespace trireme::plan {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t known_schema = 1;

constexpr std::array<std::pair<const char*, double LayerProfile::*>, 5> layer_seconds_fields{
    {{"forward", &LayerProfile::forward},
     {"backward", &LayerProfile::backward},
     {"backward_input", &LayerProfile::backward_input},
     {"backward_weight", &LayerProfile::backward_weight},
     {"update", &LayerProfile::update}}};
constexpr std::array<std::pair<const char*, std::size_t MicrobatchShape::*>, 3> optional_shape_fields{
    {{"real_tokens", &MicrobatchShape::tokens},
     {"square_length_sum", &MicrobatchShape::square_length_sum},
     {"predicted_rows", &MicrobatchShape::predicted_rows}}};
constexpr std::array<std::pair<const char*, std::size_t LayerProfile::*>, 4> layer_bytes_fields{
    {{"activation", &LayerProfile::activation},
     {"rows", &LayerProfile::rows},
     {"parameters", &LayerProfile::parameters},
     {"workspace", &LayerProfile::workspace}}};

template <class Fields>
std::vector<std::string> list_names(const Fields& fields) {
    std::vector<std::string> names;
    for (const auto& [name, field] : fields) names.emplace_back(name);
    return names;
}

template <class Fields>
Json to_json_value(const LayerProfile& layer, const Fields& fields) {
    Json value;
    for (const auto& [name, field] : fields) value[name] = layer.*field;
    return value;
}

Json to_json_value(const LayerProfile& layer) {
    return {{"name", layer.name},
            {"measured", layer.measured},
            {"seconds", to_json_value(layer, layer_seconds_fields)},
            {"bytes", to_json_value(layer, layer_bytes_fields)}};
}

Json to_json_value(const KernelProfile& kernel) {
    Json value{{"kernel", kernel.kernel}};
    if (kernel.call.matmul[0] > 0) value["product"] = kernel.call.matmul;
    value["flops"] = kernel.call.flops;
    value["bytes"] = kernel.call.bytes;
    value["calls"] = kernel.calls;
    value["seconds"] = kernel.seconds;
    return value;
}

Json to_json_value(const layout::LinkLevel& level) {
    Json value;
    if (level.ranks > 0) value["ranks"] = level.ranks;
    value["latency"] = level.link.latency;
    value["bandwidth"] = level.link.bandwidth;
    return value;
}

LayerProfile parse_layer(const JsonNode& node, std::size_t layer_count) {
    const std::array<std::string, 4> needed{"name", "measured", "seconds", "bytes"};
    node.require_keys(needed);
    LayerProfile layer{.name = node.at("name").text(), .measured = node.at("measured").whole_number()};
    if (layer.measured >= layer_count) node.at("measured").refuse(cat("a layer from 0 to ", layer_count - 1));
    const JsonNode seconds = node.at("seconds");
    seconds.require_keys(list_names(layer_seconds_fields));
    for (const auto& [name, field] : layer_seconds_fields) layer.*field = seconds.at(name).number();
    const JsonNode bytes = node.at("bytes");
    bytes.require_keys(list_names(layer_bytes_fields));
    for (const auto& [name, field] : layer_bytes_fields) layer.*field = bytes.at(name).bytes();
    return layer;
}

std::array<std::size_t, 3> parse_matmul(const JsonNode& node) {
    std::array<std::size_t, 3> matmul{};
    const std::vector<JsonNode> extents = node.items();
    if (extents.size() != matmul.size()) node.refuse("a list of rows, columns and depth");
    for (std::size_t e = 0; e < matmul.size(); ++e) {
        matmul[e] = extents[e].bytes();
        if (matmul[e] == 0) extents[e].refuse("at least 1");
    }
    return matmul;
}

KernelProfile parse_kernel(const JsonNode& node) {
    const std::array<std::string, 5> needed{"kernel", "flops", "bytes", "calls", "seconds"};
    const std::array<std::string, 1> optional{"product"};
    node.require_keys(needed, optional);
    KernelProfile kernel{.kernel = node.at("kernel").text(),
                         .call = {.flops = node.at("flops").number(), .bytes = node.at("bytes").number()},
                         .calls = node.at("calls").bytes(),
                         .seconds = node.at("seconds").number()};
    if (node.has("product")) kernel.call.matmul = parse_matmul(node.at("product"));
    if (kernel.call.bytes <= 0) node.at("bytes").refuse("above 0");
    if (kernel.seconds <= 0) node.at("seconds").refuse("above 0");
    return kernel;
}

// Parses one level of the links. `smaller_group_ranks` is the number of ranks per group at the previous level,
// or 1 at the first level. Each level has "ranks", except the last, which links all ranks.
layout::LinkLevel parse_link(const JsonNode& node, std::size_t smaller_group_ranks, bool is_last) {
    const std::array<std::string, 2> needed{"latency", "bandwidth"};
    const std::array<std::string, 1> optional{"ranks"};
    node.require_keys(needed, optional);
    layout::LinkLevel level{
        .link = {.latency = node.at("latency").number(), .bandwidth = node.at("bandwidth").number()}};
    if (level.link.bandwidth <= 0) node.at("bandwidth").refuse("above 0 (bytes per second)");
    if (node.has("ranks") == is_last) {
        node.refuse(is_last ? "without \"ranks\", because the last link joins all ranks"
                            : "an object with \"ranks\", the number of ranks per group");
    }
    if (is_last) return level;
    const std::size_t ranks = node.at("ranks").whole_number();
    if (ranks <= smaller_group_ranks || ranks % smaller_group_ranks != 0) {
        node.at("ranks").refuse(cat("a multiple of ", smaller_group_ranks, " above ", smaller_group_ranks,
                                    ", because links are listed from the smallest to the largest groups"));
    }
    level.ranks = static_cast<int>(ranks);
    return level;
}

std::vector<layout::LinkLevel> parse_links(const JsonNode& node) {
    const std::vector<JsonNode> items = node.items();
    std::vector<layout::LinkLevel> levels;
    for (const JsonNode& item : items) {
        const std::size_t smaller_group_ranks =
            levels.empty() ? 1 : static_cast<std::size_t>(levels.back().ranks);
        levels.push_back(parse_link(item, smaller_group_ranks, levels.size() + 1 == items.size()));
    }
    return levels;
}

MicrobatchShape parse_microbatch(const JsonNode& node) {
    const std::array<std::string, 2> needed{"samples", "tokens"};
    node.require_keys(needed, list_names(optional_shape_fields));
    for (const std::string& key : needed) {
        if (node.at(key.c_str()).whole_number() == 0) node.at(key.c_str()).refuse("at least 1");
    }
    MicrobatchShape shape =
        make_equal_length_shape(node.at("samples").whole_number(), node.at("tokens").whole_number());
    for (const auto& [name, count] : optional_shape_fields) {
        if (node.has(name)) shape.*count = node.at(name).bytes();
    }
    if (shape.tokens > shape.rows) node.at("real_tokens").refuse(cat("at most ", shape.rows, ", \"tokens\""));
    if (shape.predicted_rows > shape.rows)
        node.at("predicted_rows").refuse(cat("at most ", shape.rows, ", \"tokens\""));
    return shape;
}

Json to_json_value(const MicrobatchShape& shape) {
    Json value{{"samples", shape.samples}, {"tokens", shape.rows}};
    for (const auto& [name, count] : optional_shape_fields) value[name] = shape.*count;
    return value;
}

void check_schema(const JsonNode& root) {
    const std::array<std::string, 9> needed{"schema", "machine", "device",      "threads", "repeats",
                                            "model",  "dtype",   "micro_batch", "layers"};
    const std::array<std::string, 3> optional{"kernels", "launch", "links"};
    const bool is_unknown_schema = root.has("schema") && root.at("schema").whole_number() != known_schema;
    if (is_unknown_schema)
        root.at("schema").refuse(cat(known_schema, " for this program; measure the profile again"));
    root.require_keys(needed, optional);
}

}  // namespace

std::string to_json(const Profile& profile) {
    Json layers = Json::array();
    for (const LayerProfile& layer : profile.layers) layers.push_back(to_json_value(layer));
    Json value{{"schema", known_schema},
               {"machine", profile.machine},
               {"device", profile.device},
               {"threads", profile.threads},
               {"repeats", profile.repeats},
               {"model", profile.model},
               {"dtype", profile.dtype},
               {"micro_batch", to_json_value(profile.microbatch)},
               {"layers", layers}};
    for (const KernelProfile& kernel : profile.kernels) value["kernels"].push_back(to_json_value(kernel));
    if (!profile.kernels.empty()) value["launch"] = profile.launch;
    for (const layout::LinkLevel& level : profile.links) value["links"].push_back(to_json_value(level));
    return value.dump(2) + '\n';
}

Profile parse_profile(std::string_view text, const std::string& file_name) {
    const nlohmann::json document = parse_json<nlohmann::json>(text, file_name);
    const JsonNode root(document, file_name);
    check_schema(root);
    Profile profile{.machine = root.at("machine").text(),
                    .device = root.at("device").text(),
                    .threads = static_cast<int>(root.at("threads").whole_number()),
                    .repeats = root.at("repeats").whole_number(),
                    .model = root.at("model").text(),
                    .dtype = root.at("dtype").text(),
                    .microbatch = parse_microbatch(root.at("micro_batch"))};
    const std::vector<JsonNode> layers = root.at("layers").items();
    for (const JsonNode& layer : layers) profile.layers.push_back(parse_layer(layer, layers.size()));
    if (root.has("kernels")) {
        for (const JsonNode& kernel : root.at("kernels").items())
            profile.kernels.push_back(parse_kernel(kernel));
    }
    if (root.has("launch")) profile.launch = root.at("launch").number();
    if (root.has("links")) profile.links = parse_links(root.at("links"));
    return profile;
}

}  // namespace trireme::plan
