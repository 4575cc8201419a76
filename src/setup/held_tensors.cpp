// The tensors of a plan, and the ranks that hold them.
#include <algorithm>
#include <map>
#include <unordered_map>

#include "trireme/model/model.hpp"
#include "trireme/setup/planning.hpp"

namespace trireme::setup {
namespace {

// The parameters of a range of layers, as the ranks of tensor groups hold them. Ranks at the same position of
// groups with equal shares hold the same slices, so that their parameters are listed only once.
class ParameterSpecCache {
public:
    using SpecsPerLayer = std::vector<std::vector<model::ParameterSpec>>;

    ParameterSpecCache(const model::ModelConfig& model, layout::Range layers)
        : model_(model), layers_(layers) {}

    const SpecsPerLayer& find(const model::TensorPart& part) {
        const auto [entry, is_new] = specs_.try_emplace({part.rank, part.shares});
        if (is_new) {
            for (const model::Layer& layer : build_layers(model_, part, layers_))
                entry->second.push_back(list_parameters(layer));
        }
        return entry->second;
    }

private:
    const model::ModelConfig& model_;
    layout::Range layers_;
    std::map<std::pair<int, std::vector<std::size_t>>, SpecsPerLayer> specs_;
};

// Collects, per tensor, the slices of all ranks.
class HeldTensorList {
public:
    // Adds the slices that `rank` holds of `specs`, the parameters of a layer. If a rank holds both layers that
    // use a tied token table, its slice of the table is added once.
    void add(const std::vector<model::ParameterSpec>& specs, std::size_t layer, int rank) {
        for (const model::ParameterSpec& spec : specs) {
            const std::size_t index = find_or_add_tensor(spec, layer);
            layout::HeldTensor& tensor = tensors_[index];
            tensor.last_use = std::min(tensor.last_use, layer);  // a backward pass visits this layer last
            if (mark_as_holder(index, rank)) {
                for (const layout::Placement& placement : spec.placements)
                    tensor.slices.push_back({rank, placement.box});
            }
        }
    }
    std::vector<layout::HeldTensor> take() { return std::move(tensors_); }

private:
    std::size_t find_or_add_tensor(const model::ParameterSpec& spec, std::size_t layer) {
        const auto [entry, is_new] = index_by_name_.emplace(spec.name, tensors_.size());
        if (is_new) {
            tensors_.push_back({.name = spec.name,
                                .rows = spec.all_rows,
                                .columns = spec.all_columns,
                                .last_use = layer,
                                .slices = {}});
            is_holder_.emplace_back();
        }
        return entry->second;
    }

    // Marks the rank as a holder of the tensor. Returns false if the rank was marked before.
    bool mark_as_holder(std::size_t tensor, int rank) {
        std::vector<bool>& is_holder = is_holder_[tensor];
        const auto r = static_cast<std::size_t>(rank);
        if (r >= is_holder.size()) is_holder.resize(r + 1);
        if (is_holder[r]) return false;
        is_holder[r] = true;
        return true;
    }

    std::vector<layout::HeldTensor> tensors_;
    std::vector<std::vector<bool>> is_holder_;  // by tensor, then by rank
    std::unordered_map<std::string, std::size_t> index_by_name_;
};

}  // namespace

std::vector<layout::HeldTensor> list_held_tensors(const plan::Plan& plan, const model::ModelConfig& model) {
    HeldTensorList held_tensors;
    for (const layout::StageLayout& stage : plan.layout.stages) {
        ParameterSpecCache spec_cache(model, stage.layers);
        for (const layout::ReplicaLayout& replica : stage.replicas) {
            for (std::size_t r = 0; r < replica.ranks.size(); ++r) {
                const ParameterSpecCache::SpecsPerLayer& specs_per_layer =
                    spec_cache.find({.rank = static_cast<int>(r), .shares = replica.shares});
                for (std::size_t l = 0; l < specs_per_layer.size(); ++l)
                    held_tensors.add(specs_per_layer[l], stage.layers.begin + l, replica.ranks[r]);
            }
        }
    }
    std::vector<layout::HeldTensor> tensors = held_tensors.take();
    for (layout::HeldTensor& tensor : tensors)
        tensor.is_trained = tensor.last_use >= plan.first_trained_layer();
    return tensors;
}

}  // namespace trireme::setup
