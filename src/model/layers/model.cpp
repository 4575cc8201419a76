#include "trireme/model/model.hpp"

#include <algorithm>
#include <array>
#include <unordered_set>
#include <utility>

#include "trireme/model/family.hpp"

namespace trireme::model {

namespace {

constexpr std::array<const char*, std::variant_size_v<Layer>> kinds{
    // in the order of Layer
    "embedding", "patches", "attention", "mlp", "norm", "transform", "head", "span head"};

// Builds the layers whose numbers in the model are in `range`. The other layers are only counted.
class LayerList {
public:
    explicit LayerList(layout::Range range) : range_(range) {}

    template <class L, class... Arguments>
    void add(const Arguments&... arguments) {
        const std::size_t number = next_number_++;
        if (number < range_.begin || number >= range_.end()) return;
        layers_.emplace_back(std::in_place_type<L>, arguments...);
    }
    std::vector<Layer> take_layers() { return std::move(layers_); }

private:
    layout::Range range_;
    std::size_t next_number_ = 0;
    std::vector<Layer> layers_;
};

// Lists the kinds of the layers whose numbers in the model are in `range`.
class KindList {
public:
    explicit KindList(layout::Range range) : range_(range) {}

    template <class L, class... Arguments>
    void add(const Arguments&...) {
        const std::size_t number = next_number_++;
        if (number < range_.begin || number >= range_.end()) return;
        kinds_.push_back(kinds[find_index<L>(static_cast<const Layer*>(nullptr))]);
    }
    std::vector<std::string_view> take_kinds() { return std::move(kinds_); }

private:
    // Returns the index of the type L in Layer.
    template <class L, class... Types>
    static constexpr std::size_t find_index(const std::variant<Types...>*) {
        constexpr std::array are_equal{std::is_same_v<L, Types>...};
        return static_cast<std::size_t>(std::ranges::find(are_equal, true) - are_equal.begin());
    }

    layout::Range range_;
    std::size_t next_number_ = 0;
    std::vector<std::string_view> kinds_;
};

// Adds all layers of the model to `list`, in order.
template <class List>
void add_layers(const ModelConfig& config, const TensorPart& part, List& list) {
    const FamilyTraits& traits = find_traits(config.family);
    if (config.reads_images()) {
        list.template add<PatchEmbedding>(config, part);
    } else {
        list.template add<EmbeddingLayer>(config, part);
    }
    for (std::size_t block = 0; block < config.layers; ++block) {
        list.template add<AttentionHalf>(config, part, block);
        list.template add<MlpHalf>(config, part, block);
    }
    if (!traits.final_norm.empty()) list.template add<FinalNorm>(config);
    if (traits.has_head_transform && config.task != Task::span) list.template add<HeadTransform>(config);
    if (config.task == Task::span) {
        list.template add<SpanHead>(config, part);
    } else {
        list.template add<Head>(config, part);
    }
}

}  // namespace

std::vector<Layer> build_layers(const ModelConfig& config, const TensorPart& part) {
    return build_layers(config, part, all_layers);
}

std::vector<Layer> build_layers(const ModelConfig& config, const TensorPart& part, layout::Range range) {
    LayerList list(range);
    add_layers(config, part, list);
    return list.take_layers();
}

const char* find_kind(const Layer& layer) { return kinds[layer.index()]; }

std::vector<std::string_view> list_kinds(const ModelConfig& config, layout::Range range) {
    KindList list(range);
    add_layers(config, {}, list);
    return list.take_kinds();
}

// The name of a half begins with the name of its block, for example "transformer.h.5.". The names of the half's
// parameters begin with the same prefix.
std::string to_string(const Layer& layer) {
    const bool is_in_block =
        std::holds_alternative<AttentionHalf>(layer) || std::holds_alternative<MlpHalf>(layer);
    if (!is_in_block) return find_kind(layer);
    const std::string name = list_parameters(layer).front().name;
    const std::size_t number_begin = name.find_first_of("0123456789");
    return name.substr(0, name.find('.', number_begin) + 1) + find_kind(layer);
}

std::vector<ParameterSpec> list_parameters(const Layer& layer) {
    return std::visit([](const auto& typed_layer) { return typed_layer.parameters(); }, layer);
}

std::vector<ProjectionShape> list_projections(const Layer& layer) {
    return std::visit(
        []<class L>(const L& typed_layer) -> std::vector<ProjectionShape> {
            if constexpr (std::is_same_v<L, AttentionHalf> || std::is_same_v<L, MlpHalf>) {
                return typed_layer.projections();
            } else {
                return {};
            }
        },
        layer);
}

LayerState make_state(const Layer& layer) {
    return std::visit([]<class L>(const L&) -> LayerState { return typename L::State{}; }, layer);
}

const LossState& find_loss_state(const LayerState& state) {
    return std::visit(
        []<class S>(const S& typed_state) -> const LossState& {
            if constexpr (std::is_base_of_v<LossState, S>) {
                return typed_state;
            } else {
                throw BugError("a layer that is not a head has no loss");
            }
        },
        state);
}

std::vector<ParameterSpec> list_unique_parameters(const std::vector<Layer>& layers) {
    std::vector<ParameterSpec> unique;
    std::unordered_set<std::string> known_names;
    for (const Layer& layer : layers) {
        for (ParameterSpec& spec : list_parameters(layer)) {
            if (known_names.insert(spec.name).second) unique.push_back(std::move(spec));
        }
    }
    return unique;
}

std::size_t count_parameters(const ModelConfig& config) {
    std::size_t sum = 0;
    for (const ParameterSpec& spec : list_unique_parameters(build_layers(config))) sum += spec.size();
    return sum;
}

}  // namespace trireme::model
