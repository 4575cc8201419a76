#include "trireme/archive/partial_folder.hpp"

#include <gtest/gtest.h>

#include <filesystem>

#include "error_message.hpp"
#include "scratch_folder.hpp"
#include "trireme/base/error.hpp"

namespace trireme {
namespace {

using validation::message_of;
using validation::read_whole;
using validation::says;
using validation::ScratchFolder;
using Names = std::vector<std::string>;

TEST(PartialFolder, AppearsWhenItIsKept) {
    const ScratchFolder scratch;
    PartialFolder folder(scratch.file("made"));
    write_whole_file(folder.partial_path() / "a", "bytes");
    EXPECT_FALSE(std::filesystem::exists(scratch.file("made")));

    folder.keep();

    EXPECT_EQ(read_whole(scratch.file("made/a")), "bytes");
    EXPECT_EQ(scratch.names(), Names{"made"});
}

TEST(PartialFolder, LeavesNothingWhenItIsNotKept) {
    const ScratchFolder scratch;
    {
        const PartialFolder folder(scratch.file("made/"));
        write_whole_file(folder.partial_path() / "a", "bytes");
    }

    EXPECT_TRUE(scratch.names().empty());
}

TEST(PartialFolder, ReplacesAFolderWithAllThatIsInIt) {
    const ScratchFolder scratch;
    std::filesystem::create_directory(scratch.file("made"));
    scratch.write("made/old", "old");
    {
        PartialFolder folder(scratch.file("made"));
        write_whole_file(folder.partial_path() / "new", "new");

        folder.keep();
    }

    EXPECT_EQ(scratch.names(), Names{"made"});
    EXPECT_FALSE(std::filesystem::exists(scratch.file("made/old")));
    EXPECT_EQ(read_whole(scratch.file("made/new")), "new");
}

TEST(PartialFolder, MakesTheFoldersOnItsWay) {
    const ScratchFolder scratch;

    PartialFolder(scratch.file("a/b/made")).keep();

    EXPECT_TRUE(std::filesystem::is_directory(scratch.file("a/b/made")));
}

TEST(PartialFolder, RefusesAPlaceWhereAFileIs) {
    const ScratchFolder scratch;
    scratch.write("made", "a file");

    EXPECT_TRUE(says(message_of<ConfigError>([&] { PartialFolder(scratch.file("made")); }),
                     "made cannot be written: Not a directory; name another folder"));
    EXPECT_TRUE(says(message_of<ConfigError>([&] { PartialFolder(scratch.file("made/in")); }),
                     "cannot be written: Not a directory"));
    EXPECT_EQ(read_whole(scratch.file("made")), "a file");
}

TEST(WholeFile, IsReplacedWhole) {
    const ScratchFolder scratch;
    scratch.write("latest", "step-1\n");

    write_whole_file(scratch.file("latest"), "step-2\n");

    EXPECT_EQ(read_whole(scratch.file("latest")), "step-2\n");
    EXPECT_EQ(scratch.names(), Names{"latest"});
}

}  // namespace
}  // namespace trireme
