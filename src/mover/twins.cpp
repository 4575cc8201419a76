#include "trireme/mover/twins.hpp"

#include "mover/cells.hpp"
#include "mover/rounds.hpp"

namespace trireme::mover {
namespace {

std::map<int, std::vector<int>> ranks_by_node(const std::vector<int>& nodes) {
    std::map<int, std::vector<int>> ranks;
    for (std::size_t rank = 0; rank < nodes.size(); ++rank) {
        ranks[nodes[rank]].push_back(static_cast<int>(rank));
    }
    return ranks;
}

class TwinPlanner {
public:
    explicit TwinPlanner(const MoveRules& rules)
        : rules_(rules),
          ranks_(ranks_by_node(rules.nodes)),
          writers_(rules.nodes),
          landings_(rules.nodes),
          rounds_(rules.most_elements) {}

    void add(const Cell& cell) {
        for (const int rank : cell.keepers()) keep(move_.stay, cell, cell.box, rank);
        std::map<int, std::vector<int>> missing;  // ranks per node
        for (const int rank : cell.missing()) missing[node_of(rank)].push_back(rank);
        for (const auto& [node, ranks] : missing) {
            move_.twins[node].push_back({cell.tensor, cell.box});
            for (const layout::Box& part : cut_small(cell.box, rules_.most_elements))
                bring(cell, part, ranks.front());
            for (const int rank : ranks) keep(move_.in, cell, cell.box, rank);
        }
    }

    TwinMove finish(const std::vector<layout::HeldTensor>& tensors) && {
        move_.out.rounds = std::move(rounds_).take();
        for (Move* const move : {&move_.out, &move_.stay, &move_.in}) {
            for (const layout::HeldTensor& tensor : tensors) move->tensors.push_back(tensor.name);
        }
        return std::move(move_);
    }

private:
    int node_of(int rank) const {
        return rules_.nodes.empty() ? 0 : rules_.nodes.at(static_cast<std::size_t>(rank));
    }

    static void keep(Move& move, const Cell& cell, const layout::Box& box, int rank) {
        move.kept.push_back({cell.tensor, box, rank, rank});
    }

    // Copies `part` to the staging copy that `rank` reads. If no rank of its node holds the part, the rank of
    // the node that has received the least so far receives it.
    void bring(const Cell& cell, const layout::Box& part, int rank) {
        const int source = writers_.choose(cell.before, rank, part.size());
        if (node_of(source) == node_of(rank)) return keep(move_.out, cell, part, source);
        const int landing = landings_.choose(ranks_.at(node_of(rank)), rank, part.size());
        rounds_.add({cell.tensor, part, source, landing});
    }

    const MoveRules& rules_;
    std::map<int, std::vector<int>> ranks_;
    Sources writers_, landings_;
    Rounds rounds_;
    TwinMove move_;
};

}  // namespace

std::size_t TwinMove::elements_at(int node) const {
    const auto twin = twins.find(node);
    std::size_t sum = 0;
    if (twin == twins.end()) return sum;
    for (const layout::TensorBox& part : twin->second) sum += part.box.size();
    return sum;
}

std::size_t TwinMove::elements() const {
    std::size_t sum = 0;
    for (const auto& [node, twin] : twins) sum += elements_at(node);
    return sum;
}

TwinMove plan_twin_move(const std::vector<layout::HeldTensor>& before,
                        const std::vector<layout::HeldTensor>& after, const MoveRules& rules) {
    TwinPlanner planner(rules);
    for (const Cell& cell : cells_of(before, after)) planner.add(cell);
    return std::move(planner).finish(after);
}

std::vector<BoxInMemory> boxes_of_twin(const TwinMove& move, int node, device::DType dtype, std::byte* memory) {
    std::vector<BoxInMemory> boxes;
    const auto twin = move.twins.find(node);
    if (twin == move.twins.end()) return boxes;
    for (const auto& [tensor, box] : twin->second) {
        const device::Tensor place{memory, dtype, box.rows.count, box.columns.count, box.columns.count};
        boxes.push_back({move.out.tensors[tensor], {.box = box, .row = 0, .column = 0}, place});
        memory += place.bytes();
    }
    return boxes;
}

}  // namespace trireme::mover
