// Reads boxes of tensors from the parts of a checkpoint. The boxes may differ from those that ranks wrote.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/block_reads.hpp"
#include "trireme/archive/hdf5.hpp"
#include "trireme/archive/positioned_file.hpp"
#include "trireme/checkpoint/part_writer.hpp"

namespace trireme::checkpoint {

// Reads one part. All functions throw ConfigError if the file is missing, cut short, from another save, or does
// not match its checksums.
class PartReader {
public:
    // `state_sha256` is the checksum of the state.json of the checkpoint. `state` must outlive the reader.
    PartReader(const std::filesystem::path& path, const CheckpointState& state, const CheckpointPart& part,
               const std::string& state_sha256);

    // Returns the number of optimizer updates that the moments of a tensor contain. `tensor` is its index in
    // CheckpointState::tensors. The part must have moments of the tensor.
    std::uint64_t find_updates(std::size_t tensor) const { return updates_.at(tensor); }

    // Adds to `reads` the blocks of the stored box `box` that intersect `requested_box`. `use` must outlive
    // `reads`.
    void add_reads(std::vector<BlockRead>& reads, const StateBox& box, const layout::Box& requested_box,
                   const UseRows& use) const;
    // Reads the whole block `read` into `block`. May be called by any thread.
    void read_block(const BlockRead& read, std::span<std::byte> block) const {
        bytes_.read(read.offset, block);
    }
    // Compares `checksum`, the SHA-256 of the block that was read, with the recorded one. May be called by any
    // thread.
    void check_block(const BlockRead& read, const std::string& checksum) const;

private:
    struct BoxExtent {
        std::uint64_t offset = 0;
        std::uint64_t first_checksum = 0;  // index in the list of checksums
        std::size_t block_rows = 1;        // rows per checksum
        std::size_t row_bytes = 0;
    };

    [[noreturn]] void refuse(const std::string& fault) const;
    std::uint64_t read_number(const char* name) const;
    std::string read_text(const char* name) const;
    void read_updates(const CheckpointPart& part);
    void read_checksums();
    BoxExtent find_extent(const StateBox& box) const;

    std::filesystem::path path_;
    const CheckpointState& state_;
    archive::hdf5::Handle file_;     // for attributes and offsets
    archive::PositionedFile bytes_;  // the same file, for elements
    std::map<std::size_t, std::uint64_t> updates_;  // by index of the tensor
    std::string checksums_;  // contents of the array checksums_array: 64 digits per checksum
};

// A request to read a box of a field of a tensor.
struct ReadRequest {
    std::size_t tensor = 0;  // index in CheckpointState::tensors
    StateField field = StateField::value;
    layout::Box box;
    UseRows use;  // called by any thread, also concurrently
};

// All parts of a checkpoint. A part is opened when it is first needed.
class CheckpointParts {
public:
    // `state` must outlive this object.
    CheckpointParts(std::filesystem::path folder, const CheckpointState& state, std::string state_sha256);

    // Reads the boxes block by block, in the order of files and offsets. Uses at least two threads for
    // two or more blocks; see read_blocks().
    void read(const std::vector<ReadRequest>& requests, int threads) const;
    // Inserts the number of updates that each part with elements of `requested_box` records for the tensor into
    // `counts`.
    void add_updates(std::set<std::uint64_t>& counts, std::size_t tensor,
                     const layout::Box& requested_box) const;
    // Reads every box of every part, compares the checksums, and passes the rows and their type to `use`, which
    // several threads may call at once.
    void verify(const std::function<void(const StoredRows&, archive::StoredType)>& use) const;

private:
    struct PartBox {
        std::size_t part = 0;  // index in CheckpointState::parts
        layout::Box box;
    };

    const PartReader& open_part(std::size_t number) const;
    // Calls use(reader of the part, stored box) for each stored box that intersects `requested_box`.
    template <class Use>
    void for_each_part(std::size_t tensor, const layout::Box& requested_box, Use&& use) const;

    std::filesystem::path folder_;
    const CheckpointState& state_;
    std::string state_sha256_;
    std::vector<std::vector<PartBox>> boxes_;  // per tensor: which parts hold which boxes
    mutable std::vector<std::unique_ptr<PartReader>> parts_;
};

}  // namespace trireme::checkpoint
