// One rank's file of a checkpoint: part-<save>-<rank>.h5.
#pragma once

#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "trireme/archive/positioned_file.hpp"
#include "trireme/checkpoint/checkpoint_state.hpp"

namespace trireme {

// Tests look on, and end the process at any of these.
enum class SaveStage : std::uint8_t {
    layout,
    space,
    data,
    sums,
    sync,
    model,
    config,
    state,
    place,
    latest,
    clean
};
using BeforeStage = std::function<void(SaveStage)>;

// A box of a tensor of a state, or of one of its moments.
struct StateBox {
    std::size_t tensor = 0;
    StateField field = StateField::value;
    Box box;

    friend bool operator==(const StateBox&, const StateBox&) = default;
};

// What is in a part, in the order in which it is written.
std::vector<StateBox> boxes_of(const CheckpointState& state, const CheckpointPart& part);
std::size_t bytes_of(const CheckpointState& state, const StateBox& box);

class PartWriter {
public:
    // Makes the file of state.parts[part] in `folder` and all that HDF5 has to say in it; from then on HDF5 is
    // not needed. `updates` are those behind the moments in it. `state` outlives the writer. Throws
    // ResourceError where the machine refuses, ConfigError where nothing can be written there; as write() does.
    PartWriter(const std::filesystem::path& folder, const CheckpointState& state, std::size_t part,
               std::uint64_t updates, const BeforeStage& before = {});

    // The bytes of some rows of a box, which are read at once.
    using Rows = std::function<std::span<const std::byte>(std::size_t box, Range rows)>;
    // Writes and syncs all that is in boxes_of(); any thread may do it.
    void write(const Rows& rows) const;

private:
    struct Place {
        std::uint64_t offset = 0;  // in the file
        std::size_t row_bytes = 0;
        std::size_t block_rows = 1;  // under one sum
    };

    void before(SaveStage stage) const;
    std::uint64_t lay_out(const std::filesystem::path& path, std::size_t part, std::uint64_t updates);
    Place place_of(const StateBox& box) const;
    std::size_t sums_of(std::size_t box) const;

    const CheckpointState& state_;
    BeforeStage before_;
    std::vector<StateBox> boxes_;
    std::vector<Place> places_;
    std::uint64_t sums_offset_ = 0;
    std::uint64_t bytes_ = 0;  // of the file
    WritableFile file_;
};

}  // namespace trireme
