// The source tree keeps the layering rules, and each planted violation is found, with its file and line.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "layering/house.hpp"
#include "layering/planted_tree.hpp"
#include "layering/rules.hpp"
#include "layering/source_text.hpp"

namespace trireme::layering {
namespace {

using Lines = std::vector<std::string>;

const std::string source_root = TRIREME_SOURCE_DIR;

House our_house() {
    const std::string folder = source_root + "/validation/layering/";
    return {folder + "doors.txt", folder + "vendors.txt"};
}

// Returns the violations in a tree of this one file.
Lines violations_in(const std::string& path, const std::string& text) {
    const PlantedTree tree;
    tree.plant(path, text);
    return violations(our_house(), tree.root());
}

TEST(Layering, HoldsInTheSourceTree) {
    for (const std::string& violation : violations(our_house(), source_root)) ADD_FAILURE() << violation;
}

TEST(Layering, DoesNotHoldForAFileOutsideAllRooms) {
    EXPECT_NE(violations_in("src/lost.cpp", ""), Lines{});
    EXPECT_TRUE(std::filesystem::exists(source_root + "/include/trireme/base/error.hpp"));
}

TEST(Layering, AcceptsAllowedStandardAndOwnPrivateHeaders) {
    const PlantedTree tree;
    tree.plant("src/archive/hdf5_file.hpp", "#include <hdf5.h>\n");
    tree.plant("src/archive/hdf5_file.cpp", "#include \"hdf5_file.hpp\"\n#include \"archive/hdf5_file.hpp\"\n");
    tree.plant("src/data/corpus/schema.hpp", "");
    tree.plant("src/data/corpus.cpp", "#include \"corpus/schema.hpp\"\n#include \"trireme/plan/plan.hpp\"\n");
    tree.plant("include/trireme/data/corpus.hpp", "#include <vector>\n#include \"trireme/base/error.hpp\"\n");
    tree.plant("src/comm/mpi/handle.cpp", "#include <mpi.h>\n");

    EXPECT_EQ(violations(our_house(), tree.root()), Lines{});
}

TEST(Layering, FindsADependencyThatIsNotAllowed) {
    EXPECT_EQ(violations_in("src/data/corpus.cpp", "\n#include \"trireme/model/gpt.hpp\"\n"),
              Lines{"src/data/corpus.cpp:2: data has no door to model; it may use archive, base, plan (a new "
                    "door is a change "
                    "of DESIGN.md and doors.txt)"});
}

TEST(Layering, FindsADependencyInAPublicHeaderWithAngleBrackets) {
    EXPECT_EQ(
        violations_in("include/trireme/base/error.hpp", "#pragma once\n#include <trireme/comm/group.hpp>\n"),
        Lines{"include/trireme/base/error.hpp:2: base has no door to comm; it may use nothing (a new door is a "
              "change of DESIGN.md and doors.txt)"});
}

TEST(Layering, FindsADependencyBetweenFoldersThatIsNotAllowed) {
    const PlantedTree tree;
    tree.plant("src/schedule/search/search.cpp", "");
    tree.plant("src/schedule/search/rules.hpp", "");
    tree.plant("include/trireme/schedule/search.hpp", "");
    tree.plant("src/schedule/check/check.cpp",
               "#include \"schedule/search/rules.hpp\"\n#include \"trireme/schedule/search.hpp\"\n");

    const std::string fault = "schedule/check has no door to schedule/search; it may use schedule/programs";
    EXPECT_EQ(violations(our_house(), tree.root()),
              (Lines{"src/schedule/check/check.cpp:1: " + fault, "src/schedule/check/check.cpp:2: " + fault}));
}

TEST(Layering, FindsAFolderWithTooManySources) {
    const PlantedTree tree;
    for (int i = 0; i < 50; ++i) tree.plant("src/base/part" + std::to_string(i) + ".cpp", "");
    EXPECT_EQ(violations(our_house(), tree.root()), Lines{});
    tree.plant("src/base/more.cpp", "");
    EXPECT_EQ(violations(our_house(), tree.root()),
              Lines{"src/base:1: 51 sources, the limit is 50; divide it into folders"});
}

TEST(Layering, FindsAFileWithTooManyIncludes) {
    std::string text;
    for (int i = 0; i < 20; ++i) text += "#include <vector>\n";
    EXPECT_EQ(violations_in("src/base/log.cpp", text), Lines{});
    EXPECT_EQ(violations_in("src/base/log.cpp", text + "#include <string>\n"),
              Lines{"src/base/log.cpp:21: 21 includes, the limit is 20; divide its work"});
}

// A file that serves one caller should be merged into its caller.
TEST(Layering, AllowsFewSmallFiles) {
    std::size_t all = 0;
    std::size_t small = 0;
    for (const char* const folder : {"/src", "/include"}) {
        for (const auto& entry : std::filesystem::recursive_directory_iterator(source_root + folder)) {
            if (!std::set<std::string>{".hpp", ".cpp", ".cu", ".cuh"}.contains(entry.path().extension()))
                continue;
            std::ifstream in(entry.path());
            const auto lines = std::count(std::istreambuf_iterator<char>(in), {}, '\n');
            ++all;
            small += lines <= 30 ? 1U : 0U;
        }
    }
    EXPECT_GT(all, 500U);
    EXPECT_LE(small * 100, all * 12) << small << " of " << all << " files have 30 lines or fewer";
}

// A feature that needs a member of the loop belongs to a backend, the recorder or the decisions.
TEST(Layering, LimitsTheMembersOfTheStepLoop) {
    std::ifstream in(source_root + "/src/run/training_loop.cpp");
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    const std::string run = text.substr(text.find("class Run {"));
    const std::regex member(R"(\n    [A-Za-z][\w:<>&\* ]* \w+_(;| =|\{))");
    const auto count = std::distance(std::sregex_iterator(run.begin(), run.end(), member), {});
    EXPECT_GE(count, 3);
    EXPECT_LE(count, 10);
}

TEST(Concepts, LinkToExistingFiles) {
    std::ifstream in(source_root + "/docs/design/concepts.md");
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    const std::regex link(R"(\]\(\.\./\.\./([^)]*)\))");
    std::size_t files = 0;
    for (std::sregex_iterator found(text.begin(), text.end(), link), end; found != end; ++found, ++files)
        EXPECT_TRUE(std::filesystem::is_regular_file(source_root + "/" + (*found)[1].str())) << (*found)[1];
    EXPECT_EQ(files, 26U);
}

TEST(Layering, FindsARoomThatIsNotListed) {
    EXPECT_EQ(
        violations_in("src/attic/box.cpp", "int box();\n"),
        Lines{
            "src/attic/box.cpp:1: lies in no room of doors.txt; move it into one, or add the room there and to "
            "DESIGN.md"});
    EXPECT_EQ(violations_in("src/base/log.cpp", "#include \"trireme/attic/box.hpp\"\n"),
              Lines{"src/base/log.cpp:1: \"trireme/attic/box.hpp\": doors.txt has no room attic"});
}

TEST(Layering, FindsAnIncludeWithAParentOrAbsolutePath) {
    EXPECT_EQ(
        violations_in("src/archive/hdf5_file.cpp", "#include \"../../model/gpt.hpp\"\n"),
        Lines{"src/archive/hdf5_file.cpp:1: \"../../model/gpt.hpp\" climbs out of its folder; name a header "
              "from its "
              "room"});
    EXPECT_EQ(violations_in("src/data/corpus.cpp", "#include \"trireme/plan/../model/gpt.hpp\"\n").size(), 1U);
    EXPECT_EQ(violations_in("src/data/corpus.cpp", "#include \"/usr/include/mpi.h\"\n").size(), 1U);
}

TEST(Layering, FindsAPrivateHeaderOfADifferentRoom) {
    const PlantedTree tree;
    tree.plant("src/model/block.hpp", "\n");
    tree.plant("src/optim/adamw.cpp", "#include \"model/block.hpp\"\n");

    EXPECT_EQ(
        violations(our_house(), tree.root()),
        Lines{"src/optim/adamw.cpp:1: \"model/block.hpp\" is private to model; what another room needs goes to "
              "include/trireme/model"});
}

TEST(Layering, FindsAPublicHeaderThatNeedsAPrivateOne) {
    const PlantedTree tree;
    tree.plant("src/model/block.hpp", "\n");
    tree.plant("include/trireme/model/gpt.hpp", "#include \"model/block.hpp\"\n");

    EXPECT_EQ(
        violations(our_house(), tree.root()),
        Lines{
            "include/trireme/model/gpt.hpp:1: \"model/block.hpp\" is private; a public header cannot need it"});
}

TEST(Layering, FindsAQuotedHeaderOfUnknownOrigin) {
    EXPECT_EQ(
        violations_in("src/data/corpus.cpp", "#include \"corpse.hpp\"\n"),
        Lines{"src/data/corpus.cpp:1: \"corpse.hpp\" is neither beside this file nor in include/ or src/"});
    EXPECT_EQ(violations_in("src/data/corpus.cpp", "#include CORPUS_HEADER\n"),
              Lines{"src/data/corpus.cpp:1: an include without a name cannot be checked; name the header"});
}

class VendorHeader : public testing::TestWithParam<const char*> {};

TEST_P(VendorHeader, IsFoundInPublicHeadersAndOtherRooms) {
    const std::string include = "\n\n#include <" + std::string(GetParam()) + ">\n";

    const Lines in_public = violations_in("include/trireme/comm/group.hpp", include);
    const Lines in_room = violations_in("src/run/training_loop.cpp", include);

    ASSERT_EQ(in_public.size(), 1U);
    EXPECT_EQ(in_public[0].find("include/trireme/comm/group.hpp:3: <" + std::string(GetParam()) + "> may be"),
              0U);
    ASSERT_EQ(in_room.size(), 1U);
    EXPECT_EQ(in_room[0].find("src/run/training_loop.cpp:3: <" + std::string(GetParam()) + "> may be"), 0U);
}

INSTANTIATE_TEST_SUITE_P(Layering, VendorHeader,
                         testing::Values("mpi.h", "nccl.h", "cuda.h", "cuda_runtime.h", "cublasLt.h",
                                         "cublas_v2.h", "hdf5.h", "H5Cpp.h", "oneapi/dnnl/dnnl.hpp", "cblas.h",
                                         "openblas/cblas.h", "pcre2.h", "zlib.h", "boost/program_options.hpp",
                                         "boost/asio.hpp"));

TEST(Layering, FindsAVendorHeaderInQuotesAndInASimilarlyNamedFolder) {
    EXPECT_EQ(violations_in("src/comm/group.cpp", "#include \"mpi.h\"\n"),
              Lines{"src/comm/group.cpp:1: <mpi.h> may be included in src/comm/mpi only (vendors.txt)"});
    EXPECT_EQ(violations_in("src/comm/mpi_other/group.cpp", "#include <mpi.h>\n").size(), 1U);
}

TEST(Layering, FindsAnUnknownVendorHeaderInAPublicHeader) {
    EXPECT_EQ(violations_in("include/trireme/data/corpus.hpp", "#include <unistd.h>\n"),
              Lines{"include/trireme/data/corpus.hpp:1: <unistd.h> is not the C++ standard library's; hide it "
                    "in src/"});
}

TEST(Layering, FindsSystemHeadersInAPureRoom) {
    for (const std::string room : {"layout", "schedule", "policy", "plan"}) {
        for (const std::string header : {"fstream", "chrono", "thread", "filesystem"}) {
            EXPECT_EQ(
                violations_in("src/" + room + "/split.cpp", "#include <vector>\n#include <" + header + ">\n"),
                Lines{"src/" + room + "/split.cpp:2: <" + header + "> in the pure room " + room +
                      "; pass in what it would find out"});
        }
    }
    EXPECT_EQ(violations_in("src/data/split.cpp", "#include <fstream>\n"), Lines{});
}

TEST(Layering, FindsEnvironmentAccessOutsideItsFile) {
    const std::string text = "const char* home() { return std::getenv(\"HOME\"); }\n";

    EXPECT_EQ(violations_in("src/comm/group.cpp", text),
              Lines{"src/comm/group.cpp:1: getenv: the environment is "
                    "read in src/app/environment.cpp; pass the value"});
    EXPECT_EQ(violations_in("src/app/environment.cpp", text), Lines{});
}

TEST(Layering, FindsMpiSum) {
    EXPECT_EQ(violations_in("src/comm/mpi/sum.cpp", "\n\nauto op = MPI_SUM;\n"),
              Lines{"src/comm/mpi/sum.cpp:3: MPI_SUM: its bits differ between MPI libraries; use the "
                    "fixed-order sum of "
                    "comm"});
}

TEST(Layering, IgnoresCommentsAndLiterals) {
    const std::string text =
        "// #include <mpi.h>\n/*\n#include <hdf5.h>\n getenv */ const char* a = \"MPI_SUM \\\" getenv\";\n"
        "auto b = R\"x(\n#include <zlib.h>\n)\" MPI_SUM)x\";\nint c = 1'000; char d = '\"'; // getenv '\n";

    EXPECT_EQ(violations_in("src/base/words.cpp", text), Lines{});
}

TEST(Layering, FindsCodeAfterALiteralOrCommentOnTheSameLine) {
    EXPECT_EQ(violations_in("src/base/words.cpp", "char c = '\"'; auto d = getenv(\"A\");\n").size(), 1U);
    EXPECT_EQ(violations_in("src/base/words.cpp", "/* */ # include <mpi.h> // \"\n").size(), 1U);
}

TEST(Layering, FindsFilesThatAreTooLong) {
    std::string text;
    for (int i = 0; i < 151; ++i) text += "\n";

    EXPECT_EQ(violations_in("include/trireme/base/json.hpp", text),
              Lines{"include/trireme/base/json.hpp:151: 151 lines, the limit is 150; split it along a noun or "
                    "a phase"});
    EXPECT_EQ(violations_in("src/base/json.cpp", text), Lines{});
    for (int i = 151; i < 401; ++i) text += "\n";
    EXPECT_EQ(violations_in("validation/unit/base/json_test.cpp", text).size(), 1U);
}

TEST(Layering, FindsANamespaceOfADifferentRoom) {
    EXPECT_EQ(violations_in("src/plan/cost.cpp", "namespace trireme::data {\nint a;\n}\n"),
              Lines{"src/plan/cost.cpp:1: declares in namespace trireme::data; its room's is trireme::plan"});
    EXPECT_EQ(violations_in("src/plan/cost.cpp",
                            "namespace trireme::data {\nclass A;\n}\nnamespace trireme::plan {\n}\n"),
              Lines{});
}

TEST(Layering, FindsAClassInTwoSources) {
    const std::string text = "namespace trireme::plan {\nint Plan::ranks() const { return 1; }\n}\n";
    const PlantedTree tree;
    tree.plant("src/plan/plan.cpp", text);
    tree.plant("src/plan/plan_ranks.cpp", text);
    tree.plant("src/plan/cuda/plan.cpp", text);

    EXPECT_EQ(
        violations(our_house(), tree.root()),
        Lines{"src/plan/plan_ranks.cpp:1: defines a part of plan::Plan, as src/plan/plan.cpp does; join them"});
}

TEST(Layering, FindsFileNamesWithoutMeaning) {
    EXPECT_EQ(violations_in("src/base/utils.cpp", "\n"),
              Lines{"src/base/utils.cpp:1: 'utils' says nothing; name it after its one concept"});
}

// Returns the message of a House that cannot be read; empty if it can.
std::string refusal(const std::string& doors) {
    const PlantedTree tree;
    const std::filesystem::path file = tree.plant("doors.txt", doors);
    try {
        House(file, source_root + "/validation/layering/vendors.txt");
        return "";
    } catch (const std::runtime_error& error) {
        return std::string(error.what()).substr(tree.root().string().size() + 1);
    }
}

TEST(House, RejectsADependencyOnALaterRoom) {
    EXPECT_EQ(refusal("base:\nplan: base data\ndata: base\n"),
              "doors.txt:2: plan uses data, which is not listed above it");
    EXPECT_EQ(refusal("base: base\n"), "doors.txt:1: base uses base, which is not listed above it");
}

TEST(House, RejectsARepeatedRoomAndALineWithoutAColon) {
    EXPECT_EQ(refusal("base:\nbase:\n"), "doors.txt:2: base has a line already");
    EXPECT_EQ(refusal("# rooms\nbase\n"), "doors.txt:2: a line is 'name: word word ...'");
}

}  // namespace
}  // namespace trireme::layering
