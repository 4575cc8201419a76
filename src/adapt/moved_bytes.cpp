#include "adapt/moved_bytes.hpp"

#include <algorithm>
#include <map>

namespace trireme::adapt {
namespace {

// The part of a stage's moments that a team holds, as a part of the interval from 0 to 1.
struct Part {
    double begin = 0;
    double end = 1;

    double overlap(const Part& other) const {
        return std::max(0.0, std::min(end, other.end) - std::max(begin, other.begin));
    }
};

// Teams are named by their first ranks.
using Holders = std::map<int, Part>;

Holders find_holders(const layout::StageLayout& stage, bool shards_moments) {
    Holders holders;
    const auto replicas = static_cast<double>(stage.replicas.size());
    for (std::size_t r = 0; r < stage.replicas.size(); ++r) {
        const auto number = static_cast<double>(r);
        holders[stage.replicas[r].ranks.front()] =
            shards_moments ? Part{number / replicas, (number + 1) / replicas} : Part{};
    }
    return holders;
}

class MoveCounter {
public:
    void add_layers(const LayerBytes& bytes, const Holders& from, const Holders& to) {
        for (const auto& [receiver, part] : to) {
            const auto own = from.find(receiver);
            const double missing = own == from.end() ? bytes.values : 0;
            const double needed = part.end - part.begin - (own == from.end() ? 0 : part.overlap(own->second));
            if (missing == 0 && needed <= 0) continue;
            double held = 0;  // by all senders, of the needed part
            for (const auto& [sender, other] : from) held += sender == receiver ? 0 : part.overlap(other);
            const auto senders = static_cast<double>(from.size());
            for (const auto& [sender, other] : from) {
                if (sender == receiver) continue;
                const double moments = held > 0 ? bytes.moments * needed * part.overlap(other) / held : 0;
                add(sender, receiver, missing / senders + moments);
            }
        }
    }

    MovedBytes finish(std::size_t team_ranks) const {
        MovedBytes moved{.total = total_ * static_cast<double>(team_ranks)};
        for (const auto& [team, bytes] : bytes_of_team_) moved.max_rank = std::max(moved.max_rank, bytes);
        return moved;
    }

private:
    void add(int sender, int receiver, double bytes) {
        total_ += bytes;
        bytes_of_team_[sender] += bytes;
        bytes_of_team_[receiver] += bytes;
    }

    double total_ = 0;                     // on one rank of each team
    std::map<int, double> bytes_of_team_;  // sent and received by a rank
};

}  // namespace

MovedBytes estimate_moved_bytes(const std::vector<LayerBytes>& layers, bool shards_moments,
                                const layout::Layout& from, const layout::Layout& to) {
    MoveCounter counter;
    for (const layout::StageLayout& old_stage : from.stages) {
        const Holders old_holders = find_holders(old_stage, shards_moments);
        for (const layout::StageLayout& new_stage : to.stages) {
            LayerBytes common;
            for (std::size_t layer = std::max(old_stage.layers.begin, new_stage.layers.begin);
                 layer < std::min(old_stage.layers.end(), new_stage.layers.end()); ++layer) {
                common.values += layers[layer].values;
                common.moments += layers[layer].moments;
            }
            if (common.values > 0)
                counter.add_layers(common, old_holders, find_holders(new_stage, shards_moments));
        }
    }
    return counter.finish(from.stages.front().replicas.front().ranks.size());
}

}  // namespace trireme::adapt
