// Writes one rank's file of a checkpoint: part-<save>-<rank>.h5.
#pragma once

#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "trireme/archive/hdf5_imprint.hpp"
#include "trireme/archive/positioned_file.hpp"
#include "trireme/checkpoint/checkpoint_state.hpp"

namespace trireme::checkpoint {

// Stages of a save, in their order. Tests observe them and end the process at any of them.
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

// A box of a tensor's values or of one of its moments.
struct StateBox {
    std::size_t tensor = 0;
    StateField field = StateField::value;
    layout::Box box;

    friend bool operator==(const StateBox&, const StateBox&) = default;
};

// Returns the boxes of a part in the order in which they are written.
std::vector<StateBox> boxes_of(const CheckpointState& state, const CheckpointPart& part);
std::size_t bytes_of(const CheckpointState& state, const StateBox& box);

// File offsets of everything in a part, for any save of the same state. It is computed once, because HDF5 needs
// time per box.
class PartLayout {
public:
    // Lays out state.parts[part]. Throws ResourceError.
    PartLayout(const CheckpointState& state, std::size_t part);

private:
    friend class PartWriter;
    struct Extent {
        std::uint64_t offset = 0;  // in the file
        std::size_t row_bytes = 0;
        std::size_t block_rows = 1;  // rows per checksum
    };

    void fill(archive::hdf5::Id file, const CheckpointState& state);
    std::size_t sums_of(std::size_t box) const;

    std::size_t part_;
    std::vector<StateBox> boxes_;
    std::vector<Extent> places_;
    std::uint64_t sums_offset_ = 0;
    archive::hdf5::Imprint imprint_;  // initialised last: fill() sets the members above
};

class PartWriter {
public:
    // Creates the file of a part in `folder` with all of its HDF5 metadata; HDF5 is not used afterwards.
    // `layout` is of the same part, possibly of an earlier save. `updates` is the number of updates that its
    // moments contain. `state` and `layout` must outlive the writer. This function and write() throw
    // ResourceError if the machine refuses, ConfigError if nothing can be written in the folder.
    PartWriter(const std::filesystem::path& folder, const CheckpointState& state, const PartLayout& layout,
               std::uint64_t updates, const BeforeStage& before = {});

    // Returns the bytes of some rows of a box; they are used before the next call.
    using Rows = std::function<std::span<const std::byte>(std::size_t box, layout::Range rows)>;
    // Writes and syncs all boxes of boxes_of(). May be called by any thread.
    void write(const Rows& rows) const;

private:
    void before(SaveStage stage) const;
    archive::WritableFile create(const std::filesystem::path& path, std::uint64_t updates) const;

    const CheckpointState& state_;
    const PartLayout& layout_;
    BeforeStage before_;
    archive::WritableFile file_;
};

}  // namespace trireme::checkpoint
