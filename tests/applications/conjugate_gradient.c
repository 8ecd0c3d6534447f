/* PETSc's conjugate gradients on the five-point Laplacian of a square of n×n points, a matrix made of rows spread over
 * the ranks, with a solution known beforehand: whole numbers, so that what rounding leaves of the order of sums does
 * not show. Twice: with reductions that block, and with those that overlap (Ghysels and Vanroose, pipelined CG).
 *   conjugate_gradient [-n POINTS] [PETSc's options] */
#include <petscksp.h>
#include <stdio.h>

static PetscScalar solution_at(PetscInt row, PetscInt n) { return (PetscScalar)((row % n * 7 + row / n * 5) % 19 - 9); }

static PetscErrorCode make_laplacian(PetscInt n, Mat* matrix) {
  PetscFunctionBeginUser;
  PetscInt first = 0;
  PetscInt last = 0;
  PetscCall(MatCreateAIJ(PETSC_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, n * n, n * n, 5, NULL, 4, NULL, matrix));
  PetscCall(MatGetOwnershipRange(*matrix, &first, &last));
  for (PetscInt row = first; row < last; ++row) {
    PetscInt columns[5] = {row};
    PetscScalar values[5] = {4, -1, -1, -1, -1};
    PetscInt number = 1;
    if (row >= n) columns[number++] = row - n;
    if (row % n > 0) columns[number++] = row - 1;
    if (row % n < n - 1) columns[number++] = row + 1;
    if (row < n * (n - 1)) columns[number++] = row + n;
    PetscCall(MatSetValues(*matrix, 1, &row, number, columns, values, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(*matrix, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*matrix, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(0);
}

static PetscErrorCode solve(const char* method, Mat matrix, Vec truth, PetscReal* error, PetscInt* iterations) {
  PetscFunctionBeginUser;
  Vec right = NULL;
  Vec found = NULL;
  KSP solver = NULL;
  PC preconditioner = NULL;
  PetscCall(VecDuplicate(truth, &right));
  PetscCall(VecDuplicate(truth, &found));
  PetscCall(MatMult(matrix, truth, right));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &solver));
  PetscCall(KSPSetOperators(solver, matrix, matrix));
  PetscCall(KSPSetType(solver, method));
  PetscCall(KSPGetPC(solver, &preconditioner));
  PetscCall(PCSetType(preconditioner, PCJACOBI));
  PetscCall(KSPSetTolerances(solver, 1e-10, PETSC_DEFAULT, PETSC_DEFAULT, 1000));
  PetscCall(KSPSetErrorIfNotConverged(solver, PETSC_TRUE));
  PetscCall(KSPSolve(solver, right, found));
  PetscCall(KSPGetIterationNumber(solver, iterations));
  PetscCall(VecAXPY(found, -1, truth));
  PetscCall(VecNorm(found, NORM_INFINITY, error));
  PetscCall(KSPDestroy(&solver));
  PetscCall(VecDestroy(&right));
  PetscCall(VecDestroy(&found));
  PetscFunctionReturn(0);
}

int main(int argc, char** argv) {
  const char* methods[] = {KSPCG, KSPPIPECG};
  PetscInt n = 60;
  Mat matrix = NULL;
  Vec truth = NULL;
  PetscInt first = 0;
  PetscInt last = 0;
  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-n", &n, NULL));
  PetscCall(make_laplacian(n, &matrix));
  PetscCall(MatCreateVecs(matrix, &truth, NULL));
  PetscCall(VecGetOwnershipRange(truth, &first, &last));
  for (PetscInt row = first; row < last; ++row) PetscCall(VecSetValue(truth, row, solution_at(row, n), INSERT_VALUES));
  PetscCall(VecAssemblyBegin(truth));
  PetscCall(VecAssemblyEnd(truth));
  for (int i = 0; i < 2; ++i) {
    PetscReal error = 0;
    PetscInt iterations = 0;
    PetscCall(solve(methods[i], matrix, truth, &error, &iterations));
    PetscCheck(error < 1e-6, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s is wrong by %g", methods[i], (double)error);
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: %d iterations, right\n", methods[i], (int)iterations));
  }
  PetscCall(MatDestroy(&matrix));
  PetscCall(VecDestroy(&truth));
  PetscCall(PetscFinalize());
  return 0;
}
