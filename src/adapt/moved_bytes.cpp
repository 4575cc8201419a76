#include "adapt/moved_bytes.hpp"

#include <algorithm>
#include <unordered_map>

namespace trireme::adapt {
namespace {

// The part of a stage's moments that a team holds, as a part of the interval from 0 to 1.
struct Part {
    double begin = 0;
    double end = 1;

    double size() const { return end - begin; }
    double overlap(const Part& other) const {
        return std::max(0.0, std::min(end, other.end) - std::max(begin, other.begin));
    }
};

// The teams of a stage, which are named by their first ranks.
class Holders {
public:
    explicit Holders(const layout::StageLayout& stage) {
        for (const layout::ReplicaLayout& replica : stage.replicas) {
            numbers_.emplace(replica.ranks.front(), teams_.size());
            teams_.push_back(replica.ranks.front());
        }
    }

    std::size_t count() const { return teams_.size(); }
    int team(std::size_t number) const { return teams_[number]; }
    const std::vector<int>& teams() const { return teams_; }
    bool contain(int team) const { return numbers_.contains(team); }

    // The following functions apply if the teams divide the moments equally. Teams are numbered.
    Part part(std::size_t number) const {
        const auto all = static_cast<double>(count());
        return {static_cast<double>(number) / all, static_cast<double>(number + 1) / all};
    }
    // Returns the part of a team given by name; an empty part for other teams.
    Part part_of(int team) const {
        const auto number = numbers_.find(team);
        return number == numbers_.end() ? Part{0, 0} : part(number->second);
    }
    // Returns the teams whose parts overlap with `needed`, and perhaps the team before and after them.
    layout::Range find_overlapping(const Part& needed) const {
        const auto all = static_cast<double>(count());
        const auto begin = static_cast<std::size_t>(needed.begin * all);
        const std::size_t end = std::min(count(), static_cast<std::size_t>(needed.end * all) + 1);
        return {begin, end - begin};
    }

private:
    std::vector<int> teams_;
    std::unordered_map<int, std::size_t> numbers_;
};

class MoveCounter {
public:
    // Every team of `from` holds `bytes`, and every team of `to` needs them.
    void add_copies(double bytes, const Holders& from, const Holders& to) {
        const auto senders = static_cast<double>(from.count());
        double received = 0;
        for (const int receiver : to.teams()) {
            if (from.contain(receiver)) continue;
            bytes_of_team_[receiver] += bytes;
            received += bytes;
        }
        if (received == 0) return;
        for (const int sender : from.teams()) bytes_of_team_[sender] += received / senders;
    }

    // The teams of each side divide `bytes`.
    void add_parts(double bytes, const Holders& from, const Holders& to) {
        for (std::size_t r = 0; r < to.count(); ++r) {
            const int receiver = to.team(r);
            const Part needed = to.part(r);
            const double own = needed.overlap(from.part_of(receiver));
            if (needed.size() - own <= 0) continue;
            const layout::Range overlapping = from.find_overlapping(needed);
            for (std::size_t s = overlapping.begin; s < overlapping.end(); ++s) {
                if (from.team(s) == receiver) continue;
                const double moved = bytes * needed.overlap(from.part(s));
                bytes_of_team_[from.team(s)] += moved;
                bytes_of_team_[receiver] += moved;
            }
        }
    }

    double find_max() const {
        double max = 0;
        for (const auto& [team, bytes] : bytes_of_team_) max = std::max(max, bytes);
        return max;
    }

private:
    std::unordered_map<int, double> bytes_of_team_;  // sent and received by a rank
};

}  // namespace

double estimate_max_moved_bytes(const std::vector<LayerBytes>& layers, bool shards_moments,
                                const layout::Layout& from, const layout::Layout& to) {
    const std::vector<Holders> new_holders(to.stages.begin(), to.stages.end());
    MoveCounter counter;
    for (const layout::StageLayout& old_stage : from.stages) {
        const Holders old_holders(old_stage);
        for (std::size_t n = 0; n < to.stages.size(); ++n) {
            const layout::Range new_layers = to.stages[n].layers;
            LayerBytes common;
            for (std::size_t layer = std::max(old_stage.layers.begin, new_layers.begin);
                 layer < std::min(old_stage.layers.end(), new_layers.end()); ++layer) {
                common.values += layers[layer].values;
                common.moments += layers[layer].moments;
            }
            if (common.values == 0) continue;
            counter.add_copies(common.values, old_holders, new_holders[n]);
            if (shards_moments) {
                counter.add_parts(common.moments, old_holders, new_holders[n]);
            } else {
                counter.add_copies(common.moments, old_holders, new_holders[n]);
            }
        }
    }
    return counter.find_max();
}

}  // namespace trireme::adapt
