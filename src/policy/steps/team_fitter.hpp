// Finds the memory of a team for the options of its passes.
#pragma once

#include <cstddef>
#include <map>
#include <vector>

#include "trireme/policy/recompute.hpp"

namespace trireme::policy {

class TeamFitter {
public:
    // `costs` has the costs of the first options, by stage and micro-batch. Keeps references to the arguments.
    TeamFitter(const TeamOptions& team, const std::vector<std::vector<schedule::StageCost>>& costs);

    int team() const { return team_.team; }
    std::size_t count_passes() const { return keys_.size(); }
    const PassKey& key(std::size_t pass) const { return keys_[pass]; }
    const std::vector<PassOption>& options(std::size_t pass) const { return *options_[pass]; }
    std::size_t choice(std::size_t pass) const { return choices_[pass]; }
    const std::vector<std::size_t>& choices() const { return choices_; }
    void choose(std::size_t pass, std::size_t option) { choices_[pass] = option; }
    void choose_all(const std::vector<std::size_t>& choices) { choices_ = choices; }
    PassChoices list_choices() const;

    // Chooses options, and the optimizer state that may be offloaded, such that all ranks stay within their
    // limits and that the team alone takes little time. Returns false if this is not possible.
    bool fit();
    // Permits to offload all state that may be offloaded, or only what the current choices need.
    void permit_all_offload() { permitted_bytes_ = offloadable_bytes_; }
    void permit_needed_offload();

    // True if all ranks stay within their limits, with the permitted offload.
    bool fits() const;
    // True if a rank exceeds its limit even if the passes from number `first` on used the fewest bytes of any
    // of their options.
    bool exceeds_limit_despite(std::size_t first) const;
    // Chooses for every pass the fastest option with which the team still fits.
    void omit_needless_options();

    // Returns the waits for optimizer state that the choices cause.
    schedule::OffloadTimes predict_offload_times() const;

private:
    struct Moment {
        std::size_t instruction = 0;  // index in the program
        std::size_t bytes = 0;
    };

    std::size_t limit(std::size_t rank) const { return team_.max_bytes[rank] + permitted_bytes_[rank]; }
    double find_extra(std::size_t pass, std::size_t option) const {
        return options(pass)[option].extra.compute_pass_time();
    }
    std::size_t find_bytes(std::size_t rank, std::size_t use, const PassOption& option) const;
    std::size_t find_bytes(std::size_t rank, std::size_t use) const;
    std::vector<std::size_t> list_bytes(std::size_t rank) const;
    template <class FindBytes>
    Moment find_fullest_moment(FindBytes&& find_use_bytes) const;
    Moment find_fullest_moment(std::size_t rank) const;
    std::size_t count_placed_bytes(std::size_t rank) const;
    bool fit_with_permitted_offload();
    bool choose_until_fitting();
    bool choose_best_option(std::size_t rank, const Moment& moment, std::size_t excess);
    double predict_time_alone() const;

    const TeamOptions& team_;
    const std::vector<std::vector<schedule::StageCost>>& costs_;
    std::size_t ranks_;
    std::size_t moments_ = 0;
    std::vector<std::size_t> offloadable_bytes_;  // per rank
    std::vector<std::size_t> permitted_bytes_;    // per rank: state that may be offloaded
    // Per pass, in the order of keys.
    std::vector<PassKey> keys_;
    std::vector<const std::vector<PassOption>*> options_;
    std::vector<std::size_t> choices_;
    std::vector<std::size_t> pass_of_use_;  // per use: index of the pass; the number of passes for rows
};

}  // namespace trireme::policy
