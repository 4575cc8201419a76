#include <array>

#include "plan/json_node.hpp"
#include "trireme/base/error.hpp"
#include "trireme/base/json_text.hpp"
#include "trireme/plan/profile.hpp"

namespace trireme::plan {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t known_schema = 1;

constexpr std::array<std::pair<const char*, double LayerProfile::*>, 5> seconds_of_layer{
    {{"forward", &LayerProfile::forward},
     {"backward", &LayerProfile::backward},
     {"backward_input", &LayerProfile::backward_input},
     {"backward_weight", &LayerProfile::backward_weight},
     {"update", &LayerProfile::update}}};
constexpr std::array<std::pair<const char*, std::size_t LayerProfile::*>, 4> bytes_of_layer{
    {{"activation", &LayerProfile::activation},
     {"rows", &LayerProfile::rows},
     {"parameters", &LayerProfile::parameters},
     {"workspace", &LayerProfile::workspace}}};

template <class Fields>
std::vector<std::string> names_of(const Fields& fields) {
    std::vector<std::string> names;
    for (const auto& [name, field] : fields) names.emplace_back(name);
    return names;
}

template <class Fields>
Json json_value_of(const LayerProfile& layer, const Fields& fields) {
    Json value;
    for (const auto& [name, field] : fields) value[name] = layer.*field;
    return value;
}

Json json_value_of(const LayerProfile& layer) {
    return {{"name", layer.name},
            {"measured", layer.measured},
            {"seconds", json_value_of(layer, seconds_of_layer)},
            {"bytes", json_value_of(layer, bytes_of_layer)}};
}

Json json_value_of(const KernelProfile& kernel) {
    Json value{{"kernel", kernel.kernel}};
    if (kernel.call.product[0] > 0) value["product"] = kernel.call.product;
    value["flops"] = kernel.call.flops;
    value["bytes"] = kernel.call.bytes;
    value["calls"] = kernel.calls;
    value["seconds"] = kernel.seconds;
    return value;
}

Json json_value_of(const layout::LinkLevel& level) {
    Json value;
    if (level.ranks > 0) value["ranks"] = level.ranks;
    value["latency"] = level.link.latency;
    value["bandwidth"] = level.link.bandwidth;
    return value;
}

LayerProfile layer_of(const JsonNode& node, std::size_t layers) {
    const std::array<std::string, 4> needed{"name", "measured", "seconds", "bytes"};
    node.require_keys(needed);
    LayerProfile layer{.name = node.at("name").text(), .measured = node.at("measured").whole_number()};
    if (layer.measured >= layers) node.at("measured").refuse(cat("a layer, from 0 to ", layers - 1));
    const JsonNode seconds = node.at("seconds");
    seconds.require_keys(names_of(seconds_of_layer));
    for (const auto& [name, field] : seconds_of_layer) layer.*field = seconds.at(name).number();
    const JsonNode bytes = node.at("bytes");
    bytes.require_keys(names_of(bytes_of_layer));
    for (const auto& [name, field] : bytes_of_layer) layer.*field = bytes.at(name).bytes();
    return layer;
}

std::array<std::size_t, 3> product_of(const JsonNode& node) {
    std::array<std::size_t, 3> product{};
    const std::vector<JsonNode> extents = node.items();
    if (extents.size() != product.size()) node.refuse("rows, columns and depth");
    for (std::size_t e = 0; e < product.size(); ++e) {
        product[e] = extents[e].bytes();
        if (product[e] == 0) extents[e].refuse("at least 1");
    }
    return product;
}

KernelProfile kernel_of(const JsonNode& node) {
    const std::array<std::string, 5> needed{"kernel", "flops", "bytes", "calls", "seconds"};
    const std::array<std::string, 1> optional{"product"};
    node.require_keys(needed, optional);
    KernelProfile kernel{.kernel = node.at("kernel").text(),
                         .call = {.flops = node.at("flops").number(), .bytes = node.at("bytes").number()},
                         .calls = node.at("calls").bytes(),
                         .seconds = node.at("seconds").number()};
    if (node.has("product")) kernel.call.product = product_of(node.at("product"));
    if (kernel.call.bytes <= 0) node.at("bytes").refuse("above 0");
    if (kernel.seconds <= 0) node.at("seconds").refuse("above 0");
    return kernel;
}

// Parses a level of links. `before` is the group size of the level before, 1 if there is none.
layout::LinkLevel link_of(const JsonNode& node, std::size_t before, bool is_last) {
    const std::array<std::string, 2> needed{"latency", "bandwidth"};
    const std::array<std::string, 1> optional{"ranks"};
    node.require_keys(needed, optional);
    layout::LinkLevel level{
        .link = {.latency = node.at("latency").number(), .bandwidth = node.at("bandwidth").number()}};
    if (level.link.bandwidth <= 0) node.at("bandwidth").refuse("above 0, in bytes a second");
    if (node.has("ranks") == is_last) {
        node.refuse(is_last ? "without ranks: the last link is among all" : "of groups: say of how many ranks");
    }
    if (is_last) return level;
    const std::size_t ranks = node.at("ranks").whole_number();
    if (ranks <= before || ranks % before != 0) {
        node.at("ranks").refuse(cat("a multiple of ", before, " that is larger, from the smallest groups on"));
    }
    level.ranks = static_cast<int>(ranks);
    return level;
}

std::vector<layout::LinkLevel> links_of(const JsonNode& node) {
    const std::vector<JsonNode> items = node.items();
    std::vector<layout::LinkLevel> levels;
    for (const JsonNode& item : items) {
        const std::size_t before = levels.empty() ? 1 : static_cast<std::size_t>(levels.back().ranks);
        levels.push_back(link_of(item, before, levels.size() + 1 == items.size()));
    }
    return levels;
}

void read_microbatch(const JsonNode& node, Profile& profile) {
    const std::array<std::string, 2> needed{"samples", "tokens"};
    node.require_keys(needed);
    profile.samples = node.at("samples").whole_number();
    profile.tokens = node.at("tokens").whole_number();
}

void check_schema(const JsonNode& whole) {
    const std::array<std::string, 9> needed{"schema", "machine", "device",      "threads", "repeats",
                                            "model",  "dtype",   "micro_batch", "layers"};
    const std::array<std::string, 3> optional{"kernels", "launch", "links"};
    const bool is_other = whole.has("schema") && whole.at("schema").whole_number() != known_schema;
    if (is_other) whole.at("schema").refuse(cat(known_schema, " for this program; measure again"));
    whole.require_keys(needed, optional);
}

}  // namespace

std::string json_of(const Profile& profile) {
    Json layers = Json::array();
    for (const LayerProfile& layer : profile.layers) layers.push_back(json_value_of(layer));
    Json value{{"schema", known_schema},
               {"machine", profile.machine},
               {"device", profile.device},
               {"threads", profile.threads},
               {"repeats", profile.repeats},
               {"model", profile.model},
               {"dtype", profile.dtype},
               {"micro_batch", {{"samples", profile.samples}, {"tokens", profile.tokens}}},
               {"layers", layers}};
    for (const KernelProfile& kernel : profile.kernels) value["kernels"].push_back(json_value_of(kernel));
    if (!profile.kernels.empty()) value["launch"] = profile.launch;
    for (const layout::LinkLevel& level : profile.links) value["links"].push_back(json_value_of(level));
    return value.dump(2) + '\n';
}

Profile profile_from_json(std::string_view text, const std::string& place) {
    const nlohmann::json file = parse_json<nlohmann::json>(text, place);
    const JsonNode whole(file, place);
    check_schema(whole);
    Profile profile{.machine = whole.at("machine").text(),
                    .device = whole.at("device").text(),
                    .threads = static_cast<int>(whole.at("threads").whole_number()),
                    .repeats = whole.at("repeats").whole_number(),
                    .model = whole.at("model").text(),
                    .dtype = whole.at("dtype").text()};
    read_microbatch(whole.at("micro_batch"), profile);
    const std::vector<JsonNode> layers = whole.at("layers").items();
    for (const JsonNode& layer : layers) profile.layers.push_back(layer_of(layer, layers.size()));
    if (whole.has("kernels")) {
        for (const JsonNode& kernel : whole.at("kernels").items()) profile.kernels.push_back(kernel_of(kernel));
    }
    if (whole.has("launch")) profile.launch = whole.at("launch").number();
    if (whole.has("links")) profile.links = links_of(whole.at("links"));
    return profile;
}

}  // namespace trireme::plan
