// The tensors of a plan, and the ranks that hold them.
#include <algorithm>
#include <map>
#include <unordered_map>

#include "trireme/model/model.hpp"
#include "trireme/setup/planning.hpp"

namespace trireme::setup {
namespace {

// Collects, per tensor, the slices of all ranks.
class HeldTensorList {
public:
    // A parameter that ranks hold: the index of its tensor, and its boxes.
    struct Held {
        std::size_t tensor = 0;
        std::vector<layout::Placement> placements;
    };

    // Called before the first add_tensors() of a stage that `ranks` ranks hold.
    void begin_stage(std::size_t ranks) {
        earlier_tensors_ = tensors_.size();
        ranks_ = ranks;
    }

    // Adds the tensors of the stage, without slices. Returns what a rank with this part of the stage holds.
    std::vector<Held> add_tensors(const model::ModelConfig& model, layout::Range layers,
                                  const model::TensorPart& part) {
        std::vector<Held> all;
        std::size_t layer = layers.begin;
        for (const model::Layer& each : build_layers(model, part, layers)) {
            for (model::ParameterSpec& spec : list_parameters(each)) {
                const std::size_t index = find_or_add_tensor(spec, layer);
                layout::HeldTensor& tensor = tensors_[index];
                tensor.last_use = std::min(tensor.last_use, layer);  // a backward pass visits this layer last
                if (spec.is_tied && std::ranges::find(all, index, &Held::tensor) != all.end()) continue;
                all.push_back({index, std::move(spec.placements)});
            }
            ++layer;
        }
        return all;
    }

    // Adds the slices of a rank of the stage. If the rank holds both layers that use a tied token table, its
    // slice of the table is added once.
    void add_slices(const std::vector<Held>& held, int rank) {
        for (const auto& [index, placements] : held) {
            std::vector<layout::Slice>& slices = tensors_[index].slices;
            if (index < earlier_tensors_ &&
                std::ranges::find(slices, rank, &layout::Slice::rank) != slices.end())
                continue;
            for (const layout::Placement& placement : placements) slices.push_back({rank, placement.box});
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
            tensors_.back().slices.reserve(ranks_);
        }
        return entry->second;
    }

    std::vector<layout::HeldTensor> tensors_;
    std::size_t earlier_tensors_ = 0;  // of earlier stages
    std::size_t ranks_ = 0;
    std::unordered_map<std::string, std::size_t> index_by_name_;
};

}  // namespace

std::vector<layout::HeldTensor> list_held_tensors(const plan::Plan& plan, const model::ModelConfig& model) {
    HeldTensorList held_tensors;
    for (const layout::StageLayout& stage : plan.layout.stages) {
        std::size_t ranks = 0;
        for (const layout::ReplicaLayout& replica : stage.replicas) ranks += replica.ranks.size();
        held_tensors.begin_stage(ranks);
        // Ranks at the same position of groups with equal shares hold the same slices.
        std::map<std::pair<std::size_t, std::vector<std::size_t>>, std::vector<HeldTensorList::Held>> known;
        for (const layout::ReplicaLayout& replica : stage.replicas) {
            for (std::size_t r = 0; r < replica.ranks.size(); ++r) {
                const auto [held, is_new] = known.try_emplace({r, replica.shares});
                if (is_new)
                    held->second = held_tensors.add_tensors(
                        model, stage.layers, {.rank = static_cast<int>(r), .shares = replica.shares});
                held_tensors.add_slices(held->second, replica.ranks[r]);
            }
        }
    }
    std::vector<layout::HeldTensor> tensors = held_tensors.take();
    for (layout::HeldTensor& tensor : tensors)
        tensor.is_trained = tensor.last_use >= plan.first_trained_layer();
    return tensors;
}

}  // namespace trireme::setup
